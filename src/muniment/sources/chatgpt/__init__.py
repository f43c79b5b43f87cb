"""ChatGPT: `conversations.json` of a data export, or `conversations-NNN.json`; each conversation is a tree.

[{"conversation_id":"…","title":"Tides","current_node":"c","mapping":{"a":{"id":"a","message":null,"parent":null,
  "children":["b"]},"b":{"id":"b","message":{"author":{"role":"user"},"content":{…}},"parent":"a","children":["c"]}}}]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from muniment.sources import exports, object_lines
from muniment.sources.base import Claim, Found
from muniment.sources.chatgpt import claims, records, told
from muniment.sources.loose import LooseSource


class ChatGpt(LooseSource):
    """Conversations of a ChatGPT data export."""

    name = "chatgpt"
    title = "ChatGPT export"
    family = "chatgpt"
    tell = staticmethod(told.tell)

    def matches(self, path: Path, head: bytes) -> bool:
        return records.matches(head)

    def gather(self, paths: Iterable[Path], root: Path, homes: Sequence[Path]) -> Iterator[Found]:
        return exports.gather(self.name, paths, root, ("conversation_id", "id"))

    def open(self, name: str, pieces: Iterable[bytes]) -> Iterable[bytes]:
        return object_lines.lines(pieces, records.lines, records.taken_apart)

    def claims(self, line: bytes) -> Iterator[Claim]:
        return claims.claims(line)


SOURCE = ChatGpt()
