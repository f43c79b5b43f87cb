"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`, before 2026 one JSON document each, and what
people saved by `/chat save`: `~/.gemini/tmp/<project>/checkpoint-<tag>.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from muniment.errors import Unsupported
from muniment.model import Facts, Round
from muniment.sources.base import Claim, FileRole, Found, InstructionFiles, Move, Source
from muniment.sources.gemini import checkpoints, claims, find, history, objects, place, read
from muniment.sources.gemini.tools import TOOLS
from muniment.sources.lines import Record


class Gemini(Source):
    """Sessions of Google's Gemini CLI: the documents of its first year, lines with changes to what came before, and
    conversations that were saved."""

    name = find.NAME
    title = "Gemini CLI"
    family = "gemini"
    retention_days = 30
    resume_command = "gemini --resume {id}"
    instruction_files = InstructionFiles(names=("GEMINI.md",), in_home=("GEMINI.md",), when_touched=True, imports=True)
    named_by_content = True
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
        return find.PLACES.own(name, role, native_id and find.own_id(native_id))

    def given_back(self, name: str) -> bool:
        return not history.is_kept_as(name)

    def packed(self, name: str) -> bool:
        return checkpoints.may_be(name)

    def open(self, name: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
        return checkpoints.lines(pieces) if checkpoints.may_be(name) else pieces

    def objects(self, lines: Iterable[Record]) -> Iterator[Record]:
        return objects.objects(lines, resumed=False)

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        return history.read(records, facts) if facts.prompts_only else read.read(records, facts)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)

    def moved(self, name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
        rest = iter(pieces)
        first = next(rest, b"")
        if checkpoints.may_be(name) and checkpoints.matches(first):
            raise Unsupported(
                "a saved conversation tells neither a folder nor an id", "restore it as it was, or with --to"
            )
        return place.moved(name, chain([first], rest), facts, move)

    def remembered(self, home: Path) -> Iterator[Found]:
        return history.remembered(self.name, home, find.SERVER)

    def resumed(self, facts: Facts) -> str:
        return "" if checkpoints.is_id(facts.native_id) else super().resumed(facts)


SOURCE = Gemini()
