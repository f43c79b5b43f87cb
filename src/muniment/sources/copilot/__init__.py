"""GitHub Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl` and what lies beside it; in its first weeks one JSON
document each, `~/.copilot/history-session-state/session_<id>_<time>.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment.model import Facts, Round
from muniment.sources.base import Claim, FileRole, Found, InstructionFiles, Move, Source
from muniment.sources.copilot import claims, find, place, read, timeline
from muniment.sources.copilot.tools import TOOLS
from muniment.sources.lines import Record


class Copilot(Source):
    """Sessions of GitHub's Copilot CLI."""

    name = find.NAME
    title = "Copilot CLI"
    family = "copilot"
    resume_command = "copilot --resume={id}"
    instruction_files = InstructionFiles(
        names=(".github/copilot-instructions.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md"),
        folders=(".github/instructions",),
        in_home=("copilot-instructions.md",),
        when_touched=True,
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

    def packed(self, name: str) -> bool:
        return name.endswith(find.DOCUMENT)

    def open(self, name: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
        return timeline.lines(pieces) if self.packed(name) else pieces

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        return read.read(records, facts)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)

    def moved(self, name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
        return place.moved(name, pieces, facts, move)


SOURCE = Copilot()
