"""What the index has of the open round, when that is read again because its session grew.

A record is indexed once. What follows it may still show that it belongs to another round, or is of another kind: a
prompt of Codex is an event until its turn begins. Then its row is told so; its words stay.
"""

from __future__ import annotations

import zlib

from muniment.errors import MunimentError
from muniment.inscribe.messages import Progress
from muniment.model import codec
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
        self.any = bool(progress) or same is not NOTHING
        """Whether the index has any texts of the transcript."""
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
    texts = list(rows.placed(stored, side))
    known = fingerprint([place for place, _ in texts], progress.indexed) == progress.open_texts
    return [(place, text) for place, text in texts if place[-1] < progress.indexed] if known else None


def fingerprint(places: list[Place], until: int) -> int:
    """Of the places of a round's texts: another one for a file that a killed run left."""
    before = [place for place in places if place[-1] < until]
    return zlib.crc32(codec.encode(before))
