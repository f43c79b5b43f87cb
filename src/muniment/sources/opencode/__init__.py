"""opencode: its database, the many small files of older versions, and what `opencode export` gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment.model import Facts, Loss, Round
from muniment.sources import documents
from muniment.sources.base import Claim, FileRole, Found, InstructionFiles, MediaBytes, Move, Source, SourceFile
from muniment.sources.lines import Record
from muniment.sources.opencode import claims, database, find, place, read, storage, write
from muniment.sources.opencode.records import MESSAGES, NAME
from muniment.sources.opencode.tools import TOOLS


class OpenCode(Source):
    """Sessions of opencode."""

    name = NAME
    title = "opencode"
    family = "opencode"
    resume_command = "opencode -s {id}"
    import_command = "opencode import {path}"
    instruction_files = InstructionFiles(names=("AGENTS.md", "CLAUDE.md"), only_first=True)
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

    def content(self, file: SourceFile, start: int = 0, end: int | None = None) -> Iterable[bytes]:
        if storage.is_together(file.name):
            return (b"".join(storage.together(file))[start:end],)
        return (database.content(file)[start:end],) if database.holds(file) else super().content(file, start, end)

    def given_back(self, name: str) -> bool:
        return not storage.is_together(name)

    def owns(self, name: str, role: FileRole, native_id: str | None = None) -> bool:
        return find.PLACES.own(name, role, native_id)

    def packed(self, name: str) -> bool:
        return True

    def open(self, name: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
        return documents.lines(pieces, MESSAGES)

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        return read.read(records, facts)

    def write(
        self, rounds: Iterable[Round], facts: Facts, move: Move, media: MediaBytes, losses: list[Loss]
    ) -> Iterator[bytes]:
        return write.write(rounds, facts, move, media, losses)

    def place(self, facts: Facts, move: Move) -> str:
        return f"{find.EXPORTED}/{write.session_id(facts, move)}.json"

    def identity(self, facts: Facts, move: Move) -> str:
        return write.session_id(facts, move)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)

    def moved(self, name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
        return place.moved(name, pieces, facts, move)


SOURCE = OpenCode()
