"""Qwen Code: `~/.qwen/projects/<project>/chats/<id>.jsonl` and what lies beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment.model import Event, Facts, Round
from muniment.sources.base import Claim, FileRole, Found, Hints, InstructionFiles, Move, Source
from muniment.sources.lines import Record
from muniment.sources.qwen import claims, events, find, place, read
from muniment.sources.qwen.tools import TOOLS


class Qwen(Source):
    """Sessions of Alibaba's Qwen Code."""

    name = find.NAME
    title = "Qwen Code"
    family = "qwen"
    resume_command = "qwen --resume {id}"
    session_variable = "QWEN_CODE_SESSION_ID"
    instruction_files = InstructionFiles(
        names=("QWEN.md", "AGENTS.md"), in_home=("QWEN.md", "AGENTS.md"), when_touched=True, imports=True
    )
    tools = TOOLS

    def homes(self, env: Mapping[str, str]) -> list[Path]:
        return find.homes(env)

    def candidates(self, home: Path) -> Iterator[Path]:
        return find.candidates(home)

    def matches(self, path: Path, head: bytes) -> bool:
        return find.matches(path, head)

    def is_side_file(self, path: Path) -> bool:
        return find.is_side_file(path)

    def gather(self, paths: Iterable[Path], root: Path, homes: Sequence[Path]) -> Iterator[Found]:
        return find.gather(paths, root, homes)

    def owns(self, name: str, role: FileRole, native_id: str | None = None) -> bool:
        return find.PLACES.own(name, role, native_id)

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        return read.read(records, facts)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)

    def moved(self, name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
        return place.moved(name, pieces, facts, move)

    def hints(self, event: Event) -> Hints:
        return events.hints(event)


SOURCE = Qwen()
