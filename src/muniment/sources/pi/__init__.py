"""pi: `~/.pi/agent/sessions/--<folder>--/<time>_<uuid>.jsonl`, a tree of entries in one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment.model import Facts, Loss, Round
from muniment.sources.base import Claim, FileRole, Found, InstructionFiles, MediaBytes, Move, Source
from muniment.sources.lines import Record
from muniment.sources.pi import claims, find, place, read, write
from muniment.sources.pi.tools import TOOLS


class Pi(Source):
    """Sessions of the pi coding agent: linear ones (version 1) and trees (2 and 3)."""

    name = find.NAME
    title = "pi"
    family = "pi"
    resume_command = "pi --session {id}"
    instruction_files = InstructionFiles(
        names=("AGENTS.md", "CLAUDE.md"), in_home=("AGENTS.md", "CLAUDE.md"), only_first=True, above_root=True
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

    def write(
        self, rounds: Iterable[Round], facts: Facts, move: Move, media: MediaBytes, losses: list[Loss]
    ) -> Iterator[bytes]:
        return write.write(rounds, facts, move, media, losses)

    def place(self, facts: Facts, move: Move) -> str:
        return place.place(facts, move)

    def objects(self, lines: Iterable[Record]) -> Iterator[Record]:
        return claims.numbered(lines)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)

    def moved(self, name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
        return place.moved(name, pieces, facts, move)


SOURCE = Pi()
