"""Claude Code: `~/.claude/projects/<slug>/<uuid>.jsonl` and what lies beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment.model import Event, Facts, Loss, Round
from muniment.sources.base import Claim, FileRole, Former, Found, Hints, InstructionFiles, MediaBytes, Move, Source
from muniment.sources.claude import claims, events, find, history, place, read, write
from muniment.sources.claude.tools import TOOLS
from muniment.sources.lines import Record


class ClaudeCode(Source):
    """Sessions of Anthropic's Claude Code, all versions met so far (1.0 to 2.1)."""

    name = "claude-code"
    title = "Claude Code"
    family = "claude"
    retention_days = 30
    resume_command = "claude --resume {id}"
    session_variable = "CLAUDE_CODE_SESSION_ID"
    instruction_files = InstructionFiles(
        names=("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"),
        folders=(".claude/rules",),
        in_home=("CLAUDE.md",),
        above_root=True,
        when_touched=True,
        imports=True,
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
        return history.session_of(line) == native_id

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        return history.read(records, facts) if facts.prompts_only else read.read(records, facts)

    def read_on(self, records: Iterable[Record], facts: Facts, former: Former) -> Iterator[Round]:
        return history.read(records, facts) if facts.prompts_only else read.read(records, facts, former)

    def write(
        self, rounds: Iterable[Round], facts: Facts, move: Move, media: MediaBytes, losses: list[Loss]
    ) -> Iterator[bytes]:
        return write.write(rounds, facts, move, media, losses)

    def place(self, facts: Facts, move: Move) -> str:
        return place.place(facts, move)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)

    def moved(self, name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
        new_name = place.moved_name(name, facts, move)
        return new_name, place.moved_lines(pieces, facts, move) if name.endswith(".jsonl") else pieces

    def live(self, home: Path, native_id: str) -> int | None:
        return place.live(home, native_id)

    def remembered(self, home: Path) -> Iterator[Found]:
        return history.remembered(home)

    def hints(self, event: Event) -> Hints:
        return Hints(instructions=events.instructions(event))


SOURCE = ClaudeCode()
