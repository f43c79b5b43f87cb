"""What the index has of the open round, when that is read again because its session grew.

A record is indexed once. What follows it may still show that it belongs to another round, or is of another kind: a
prompt of Codex is an event until its turn begins. Then its row is told so; its words stay.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from muniment.errors import MunimentError
from muniment.inscribe.messages import Progress
from muniment.model import Round
from muniment.store import rounds, rows
from muniment.store.layout import Shelf
from muniment.store.rows import NOTHING, Place, Span

Moved = tuple[Place, Place | None]


class OpenTexts:
    """Which texts need no row, and which rows are not true any more."""

    def __init__(self, shelf: Shelf, side: str | None, first: int, progress: Progress | None, same: Span) -> None:
        self._same = same
        self._moved: list[Moved] = []
        known = _indexed(shelf, side, first, progress) if progress else []
        self.until = 0
        """Where in the source the first record lies that no row can be of."""
        if progress:
            self.until = progress.open_offset if known is None else progress.indexed
        self._left: dict[tuple[int, str], list[Place]] = {}
        for place, text in known or ():
            self._left.setdefault((place[-1], text), []).append(place)

    def has(self, place: Place, text: str) -> bool:
        """Whether the index has a text, there or elsewhere."""
        offset = place[-1]
        if self._same is not NOTHING and self._same.has(offset):
            return True
        if offset >= self.until or not (rows_ := self._left.get((offset, text))):
            return False
        if place in rows_:
            rows_.remove(place)
        else:
            self._moved.append((rows_.pop(), place))
        return True

    def moves(self) -> list[Moved]:
        """Rows that are to be changed, once all was read."""
        return [*self._moved, *((place, None) for places in self._left.values() for place in places)]


def _indexed(shelf: Shelf, side: str | None, first: int, progress: Progress) -> list[tuple[Place, str]] | None:
    """The texts of the open round that the index has; None where its file is not the one that was indexed."""
    try:
        stored = rounds.load(shelf, first)
    except MunimentError:
        return None
    known = fingerprint(stored, side, progress.indexed) == progress.open_texts
    return list(_texts(stored, side, progress.indexed)) if known else None


def fingerprint(round_: Round | None, side: str | None, until: int) -> int:
    """Of the places of a round's texts: another one for a file that a killed run left."""
    places = [place for place, _ in _texts(round_, side, until)] if round_ else []
    return zlib.crc32(repr(places).encode("utf-8", "surrogatepass"))


def _texts(round_: Round, side: str | None, until: int) -> Iterator[tuple[Place, str]]:
    return (placed for placed in rows.placed(round_, side) if placed[0][-1] < until)
