"""The texts of hits, from the round files.

A round may be megabytes of tool output, and a hit is one block of it. A block ends with the place of its record, which
the index knows: so the block is cut out of the file by plain search, and only it is decoded. What cannot be cut out so
is read the whole way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from muniment.errors import NotFound, StoreError
from muniment.model import Block, Message, Round, Tool
from muniment.secrets import Redactor
from muniment.store import rounds
from muniment.store.index import Index
from muniment.store.layout import Layout, Shelf
from muniment.store.rows import placed

_MAX_KEPT = 8
_TAGS = {"user": b"text", "assistant": b"text", "tool": b"tool", "result": b"tool"}
"""The type of block that a row of some kind comes from, where it is not named like it."""
_decoder: msgspec.json.Decoder[Block] = msgspec.json.Decoder(Block)


class Place(Protocol):
    """Where a text lies: a row of `texts`."""

    @property
    def id(self) -> int: ...
    @property
    def session_id(self) -> str: ...
    @property
    def agent_id(self) -> str: ...
    @property
    def session(self) -> int: ...
    @property
    def round(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def sidechain(self) -> str | None: ...
    @property
    def offset(self) -> int: ...


class Texts:
    """Gives the texts of rows; the round files read last are kept."""

    def __init__(self, layout: Layout, index: Index) -> None:
        self.layout = layout
        self.index = index
        self.kept: dict[tuple[str, str | None, int], bytes] = {}

    def of(self, row: Place) -> str | None:
        """The text of a row; None if its round file is gone or damaged, which `doctor` tells."""
        return self.redacted(row, Redactor.off())

    def redacted(self, row: Place, redactor: Redactor) -> str | None:
        """The same without secrets. They are looked for in the block, whole: the words of an input lack the names of
        its members, and a snippet may hold half a secret."""
        try:
            found = _own(row, self._messages(row), redactor)
            found = found or _own(row, rounds.load(self._shelf(row), row.round).messages, redactor)
        except (NotFound, StoreError):
            return None
        return found[self._which(row) % len(found)] if len(found) > 1 else found[0] if found else None

    def time_of(self, row: Place) -> str | None:
        """When the text of a row was said."""
        try:
            messages = self._messages(row) or rounds.load(self._shelf(row), row.round).messages
        except (NotFound, StoreError):
            return None
        blocks = [block for message in messages for block in message.blocks]
        refs = [block.result if isinstance(block, Tool) and row.kind == "result" else block.ref for block in blocks]
        return next((ref.at for ref in refs if ref and ref.offset == row.offset), None)

    def tools(self, row: Place) -> list[Tool]:
        """The calls of the record that a row comes from."""
        try:
            messages = self._messages(row) or rounds.load(self._shelf(row), row.round).messages
        except (NotFound, StoreError):
            return []
        blocks = [block for message in messages for block in message.blocks]
        return [block for block in blocks if isinstance(block, Tool) and block.name and block.ref.offset == row.offset]

    def _shelf(self, row: Place) -> Shelf:
        own = self.layout.shelf(row.agent_id, row.session_id)
        return own.sidechain(row.sidechain) if row.sidechain else own

    def _messages(self, row: Place) -> tuple[Message, ...]:
        """The blocks of the row's record, each as a message; nothing if the fast way does not lead to them."""
        role = "user" if row.kind == "user" else "assistant"
        try:
            blocks = [_decoder.decode(piece) for piece in _pieces(self._data(row), row.kind, row.offset)]
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return ()
        return tuple(Message(role, None, (block,)) for block in blocks)

    def _data(self, row: Place) -> bytes:
        place = (row.session_id, row.sidechain, row.round)
        if place not in self.kept:
            if len(self.kept) == _MAX_KEPT:
                self.kept.clear()
            try:
                self.kept[place] = self._shelf(row).round_file(row.round).read_bytes()
            except FileNotFoundError:
                raise NotFound(f"there is no round {row.round}") from None
        return self.kept[place]

    def _which(self, row: Place) -> int:
        """One record may hold several texts of a kind; their rows stand in the same order."""
        sql = """SELECT count(*) FROM texts WHERE session = ? AND round = ? AND kind = ? AND offset = ?
          AND sidechain IS ? AND id < ?"""
        place = (row.session, row.round, row.kind, row.offset, row.sidechain, row.id)
        return self.index.rows(sql, *place)[0][0]


def _own(row: Place, messages: tuple[Message, ...], redactor: Redactor) -> list[str]:
    """The texts of a row's place, as they were indexed but for their secrets."""
    own, shown = (row.kind, row.offset), redactor.round(Round(row.round, messages))
    told = (text for (_, kind, _, _, offset), text in placed(shown) if (kind, offset) == own)
    return [text for text in told if text and not text.isspace()]


def _pieces(data: bytes, kind: str, offset: int) -> Iterator[bytes]:
    """Blocks as they are written in a round file, by the place of their record: `"ref":{"offset":812,…}}` ends one."""
    begin = b'{"type":"%s",' % _TAGS.get(kind, kind.encode())
    place = b'"%s":{"offset":%d' % (b"result" if kind == "result" else b"ref", offset)
    at = data.find(place)
    while at >= 0:
        behind = at + len(place)
        start, end = data.rfind(begin, 0, at), data.find(b"}}", behind) + 2
        if data[behind : behind + 1] in (b",", b"}") and start >= 0:
            yield data[start:end]
        at = data.find(place, behind)
