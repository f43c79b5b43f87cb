"""Claude.ai: `conversations.json` of a data export, all conversations of an account in one array.

[{"uuid":"…","name":"Tides","created_at":"…","chat_messages":[{"uuid":"…","sender":"human","content":[…]}]}]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment.model import Facts, Round
from muniment.sources import chats, exports
from muniment.sources.base import Claim, Found, Record, Source
from muniment.sources.claude_ai import claims, records, told


class ClaudeAi(Source):
    """Conversations of a Claude.ai data export."""

    name = "claude-ai"
    title = "Claude.ai export"
    family = "claude-ai"

    def homes(self, env: Mapping[str, str]) -> list[Path]:
        """None: an export lies where somebody put it."""
        return []

    def candidates(self, home: Path) -> Iterator[Path]:
        return iter(())

    def matches(self, path: Path, head: bytes) -> bool:
        return records.matches(head)

    def gather(self, paths: Iterable[Path], root: Path, homes: Sequence[Path]) -> Iterator[Found]:
        return exports.gather(self.name, paths, root, ("uuid",))

    def packed(self, name: str) -> bool:
        return True

    def open(self, name: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
        return exports.lines(pieces, records.lines)

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        return chats.read(records, facts, told.tell)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)


SOURCE = ClaudeAi()
