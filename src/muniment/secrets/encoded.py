"""Secrets that are written in another way: as base64, or in an address with its signs as `%2F`.

What looks so is decoded and searched, and what is found is told as the place of its encoded form. Base64 has to decode
to plain text, and base64 that is broken into lines is taken line by line. One layer is removed, not several.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from functools import cache
from urllib.parse import unquote_to_bytes

from muniment.secrets.pattern import Pattern
from muniment.secrets.rule import Rule

Hidden = tuple[Rule, int, int]
Search = Callable[[bytes], Iterator[Hidden]]

_GLANCE = 64
"""Signs that tell whether base64 is text: nearly all of it is names, paths, hashes or pictures."""
_TEXT = frozenset(b"\t\n\r" + bytes(range(32, 127)))


def find(data: bytes, search: Search) -> Iterator[Hidden]:
    """What `search` finds in the decoded pieces, as places in the encoded text."""
    yield from _in_base64(data, search)
    if b"%" in data:
        yield from _in_addresses(data, search)


def _in_base64(data: bytes, search: Search) -> Iterator[Hidden]:
    for start, end in _base64().every(data):
        if not _is_text(data[start : min(end, start + _GLANCE)]):
            continue
        for rule, first, last in search(_decoded(data[start:end])):
            yield rule, start + first // 3 * 4, min(end, start + -(-last // 3) * 4)


def _is_text(signs: bytes) -> bool:
    return all(byte in _TEXT for byte in _decoded(signs))


def _decoded(signs: bytes) -> bytes:
    return base64.b64decode(signs[: len(signs) & ~3])


def _in_addresses(data: bytes, search: Search) -> Iterator[Hidden]:
    for start, end in _address().every(data):
        piece = data[start:end]
        found = list(search(unquote_to_bytes(piece)))
        if found:
            places = _places(piece)
            yield from ((rule, start + places[first], start + places[last]) for rule, first, last in found)


def _places(piece: bytes) -> list[int]:
    """Where each decoded byte begins, and where the last one ends."""
    places: list[int] = []
    at = 0
    for escape, _ in _escape().every(piece):
        places += range(at, escape + 1)
        at = escape + 3
    return [*places, *range(at, len(piece) + 1)]


@cache
def _base64() -> Pattern:
    """At least as much as holds the shortest secret worth finding: eighteen bytes."""
    return Pattern(r"[A-Za-z0-9+/]{24,}={0,2}")


@cache
def _address() -> Pattern:
    return Pattern(r"""[^\s"'`<>\\]*%[0-9A-Fa-f]{2}[^\s"'`<>\\]*""")


@cache
def _escape() -> Pattern:
    return Pattern("%[0-9A-Fa-f]{2}")
