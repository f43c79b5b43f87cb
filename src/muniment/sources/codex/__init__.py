"""Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl` and what lies beside it, and what `codex exec
--json` printed into a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment.errors import Unsupported
from muniment.model import Event, Facts, Loss, Round
from muniment.sources.base import Claim, FileRole, Found, Hints, InstructionFiles, MediaBytes, Move, Source
from muniment.sources.codex import claims, events, find, forks, history, oldest, place, read, stream, write, zst
from muniment.sources.codex.tools import TOOLS
from muniment.sources.lines import Record


class Codex(Source):
    """Sessions of OpenAI's Codex, from the single JSON document of spring 2025 to 0.166, and what `exec` prints."""

    name = find.NAME
    title = "Codex"
    family = "codex"
    resume_command = "codex resume {id}"
    session_variable = "CODEX_THREAD_ID"
    instruction_files = InstructionFiles(
        names=("AGENTS.override.md", "AGENTS.md"), in_home=("AGENTS.override.md", "AGENTS.md"), only_first=True
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

    def notes(self, name: str, line: bytes, native_id: str) -> bool:
        return history.session_of(name, line) == native_id

    def packed(self, name: str) -> bool:
        return zst.is_packed(name)

    def open(self, name: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
        return zst.unpacked(pieces) if zst.is_packed(name) else pieces

    def objects(self, lines: Iterable[Record]) -> Iterator[Record]:
        return oldest.items(lines, resumed=False)

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        return history.read(records, facts) if facts.prompts_only else read.read(records, facts)

    def ordinal(self, record: Record) -> int | None:
        return forks.ordinal(record)

    def write(
        self, rounds: Iterable[Round], facts: Facts, move: Move, media: MediaBytes, losses: list[Loss]
    ) -> Iterator[bytes]:
        return write.write(rounds, facts, move, media, losses)

    def place(self, facts: Facts, move: Move) -> str:
        return place.place(facts, move)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)

    def moved(self, name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
        if stream.thread_of(facts.native_id):
            raise Unsupported(
                "a stream is only printed and goes nowhere", "export the session, or restore it with --to"
            )
        return place.moved(name, pieces, facts, move)

    def identity(self, facts: Facts, move: Move) -> str:
        return move.session_id or facts.session_id

    def resumed(self, facts: Facts) -> str:
        thread = stream.thread_of(facts.native_id)
        return self.command_for(thread) if thread else super().resumed(facts)

    def remembered(self, home: Path) -> Iterator[Found]:
        return history.remembered(self.name, home)

    def hints(self, event: Event) -> Hints:
        return events.hints(event)


SOURCE = Codex()
