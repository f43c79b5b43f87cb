"""Claude.ai: `conversations.json` of a data export, all conversations of an account in one array.

    [{"uuid":"…","name":"Tides","created_at":"…","chat_messages":[{"uuid":"…","sender":"human","content":[…]}]}]
    {"conversations":[{"uuid":"…",…,"chat_messages":[…]},…]}

The second is what readers of several other projects take for an export; none was at hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from muniment.sources import exports, object_lines
from muniment.sources.base import Claim, Found
from muniment.sources.claude_ai import claims, records, told
from muniment.sources.loose import LooseSource


class ClaudeAi(LooseSource):
    """Conversations of a Claude.ai data export."""

    name = "claude-ai"
    title = "Claude.ai export"
    family = "claude-ai"
    tell = staticmethod(told.tell)

    def matches(self, path: Path, head: bytes) -> bool:
        return records.matches(head)

    def gather(self, paths: Iterable[Path], root: Path, homes: Sequence[Path]) -> Iterator[Found]:
        return exports.gather(self.name, paths, root, ("uuid",), records.CONVERSATIONS)

    def open(self, name: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
        alone = records.unwrapped(pieces)
        return object_lines.lines(alone, records.lines, records.taken_apart, records.readable, records.CLOSING)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)


SOURCE = ClaudeAi()
