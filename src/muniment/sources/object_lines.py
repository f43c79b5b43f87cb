"""A file of JSON objects as lines: what a reader of lines is given of a document that holds conversations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeVar

from muniment.sources.chats import beginning, flat, unread
from muniment.sources.lines import MAX_LINE_BYTES
from muniment.sources.raw_json import AROUND, DAMAGE, objects, whole

T = TypeVar("T")

_NEVER = re.compile(rb"(?!)")


def as_it_is(raw: bytes) -> Iterable[bytes]:
    """An object as one line."""
    return (raw + b"\n",)


def lines(
    pieces: Iterable[bytes],
    make: Callable[[T], Iterable[bytes]],
    take_apart: Callable[[bytes], T] = whole,
    otherwise: Callable[[bytes], Iterable[bytes]] = as_it_is,
    closing: re.Pattern[bytes] = _NEVER,
) -> Iterator[bytes]:
    """The lines of every object; what is no object and stands between is a line too.

    `make` makes them of what `take_apart` gives; where that raises one of `DAMAGE`, `otherwise` does of the bytes. Both
    are given an object that stands on one line.
    An object larger than any line may be is told of by a line that cannot be read: it is kept, and damage to a reader.
    What begins as `closing` behind an object, and all that follows, belongs to what is around them.
    """

    def made(raw: bytes) -> Iterable[bytes]:
        known = _taken_apart(raw, take_apart)
        return otherwise(raw) if known is None else make(known)

    begun, rest = beginning(pieces)
    alone = flat(begun.strip(AROUND))  # the part of most sessions is one object and no other
    if (known := _taken_apart(alone, take_apart)) is not None:
        yield from make(known)
    elif _taken_apart(alone, whole):
        yield from otherwise(alone)
    else:
        yield from _one_by_one(chain([begun], rest), made, closing)


def _taken_apart(raw: bytes, take_apart: Callable[[bytes], T]) -> T | None:
    """What these bytes hold, if they are one object."""
    try:
        return take_apart(raw) if raw.startswith(b"{") else None
    except DAMAGE:
        return None


def _one_by_one(
    pieces: Iterable[bytes], make: Callable[[bytes], Iterable[bytes]], closing: re.Pattern[bytes]
) -> Iterator[bytes]:
    held, ended = _Held(), False
    for span in objects(held.noting(pieces)):  # to the end: the bytes are kept on the way
        between = held.take(span.start)
        ended = ended or bool(closing.match(between))
        lost = held.lost
        raw = flat(held.take(span.end))
        if not ended:
            yield from _odd(between)
            yield from (unread(f"an object of {lost + len(raw)} bytes is kept and not read"),) if lost else make(raw)
    if not ended and not closing.match(held.data):
        yield from _odd(bytes(held.data))


class _Held:
    """The bytes that were read and not yet used, as many as may be held."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.offset = 0
        self.lost = 0
        """Bytes before these that could not be held."""

    def noting(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            if len(self.data) + len(piece) > MAX_LINE_BYTES:
                self.lost += len(self.data)
                self.offset += len(self.data)
                self.data.clear()
            self.data += piece
            yield piece

    def take(self, end: int) -> bytes:
        """What there is up to a place in the file."""
        length = max(0, end - self.offset)
        taken = bytes(self.data[:length])
        del self.data[:length]
        self.offset += length
        if length:
            self.lost = 0
        return taken


def _odd(raw: bytes) -> Iterator[bytes]:
    if odd := raw.strip(AROUND):
        yield flat(odd) + b"\n"
