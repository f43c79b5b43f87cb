"""Cursor: transcripts of its agent below `~/.cursor/projects`, chats of its CLI as `~/.cursor/chats/…/store.db`, and
chats that were exported as markdown, wherever they lie.

    {"role":"user","message":{"content":[{"type":"text","text":"<user_query>\\nfix the login\\n</user_query>"}]}}

Transcripts tell no ids, no results, and of times only when a human asked; a `store.db` has the results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment.model import Facts, Round
from muniment.sources import chats
from muniment.sources.base import Claim, FileRole, Found, InstructionFiles, Source
from muniment.sources.cursor import claims, database, exported, find, plain, quick, told
from muniment.sources.lines import Record


class Cursor(Source):
    """Sessions of Cursor's agent."""

    name = find.NAME
    title = "Cursor"
    family = "cursor"
    resume_command = "cursor-agent --resume {id}"
    instruction_files = InstructionFiles(names=("AGENTS.md",))

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

    def packed(self, name: str) -> bool:
        return not name.endswith(".jsonl")

    def owns(self, name: str, role: FileRole, native_id: str | None = None) -> bool:
        return find.PLACES.own(name, role, native_id)

    def open(self, name: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
        if name.endswith(".jsonl"):
            return pieces
        if name.endswith(exported.SUFFIX):
            return exported.lines(pieces)
        return plain.lines(pieces) if name.endswith(".txt") else database.lines(pieces)

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        return chats.read(records, facts, told.tell, quick.tell)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)


SOURCE = Cursor()
