"""ChatGPT: `conversations.json` of a data export, or `conversations-NNN.json`; each conversation is a tree.

[{"conversation_id":"…","title":"Tides","current_node":"c","mapping":{"a":{"id":"a","message":null,"parent":null,
  "children":["b"]},"b":{"id":"b","message":{"author":{"role":"user"},"content":{…}},"parent":"a","children":["c"]}}}]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment.model import Facts, Round
from muniment.sources import chats, exports
from muniment.sources.base import Claim, Found, Record, Source
from muniment.sources.chatgpt import claims, records, told


class ChatGpt(Source):
    """Conversations of a ChatGPT data export."""

    name = "chatgpt"
    title = "ChatGPT export"
    family = "chatgpt"

    def homes(self, env: Mapping[str, str]) -> list[Path]:
        """None: an export lies where somebody put it."""
        return []

    def candidates(self, home: Path) -> Iterator[Path]:
        return iter(())

    def matches(self, path: Path, head: bytes) -> bool:
        return records.matches(head)

    def gather(self, paths: Iterable[Path], root: Path, homes: Sequence[Path]) -> Iterator[Found]:
        return exports.gather(self.name, paths, root, ("conversation_id", "id"))

    def packed(self, name: str) -> bool:
        return True

    def open(self, name: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
        return exports.lines(pieces, records.lines)

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        return chats.read(records, facts, told.tell)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)


SOURCE = ChatGpt()
