"""The oldest form: one JSON document `{"session": {…}, "items": […]}`, read object by object.

The document may be spread over lines or stand on one. Strings of JSON hold no raw newline, so it can be taken
line by line, with nothing kept but the object that is open: memory stays bounded by the largest item, and a
reader can begin at any item.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from muniment.sources.lines import Record
from muniment.sources.salvage import begins_with_record

_BEGINS = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*(?:"session"\s*:|$)')
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"?|[{}\[\]]')
INSIDE = 2
"""Depth of the items: within the document and its list."""


def items(lines: Iterable[Record], resumed: bool) -> Iterator[Record]:
    """The records, those of a single document taken out of it."""
    rest = iter(lines)
    first = next(rest, None)
    if first is None:
        return iter(())
    whole = chain([first], rest)
    return objects(whole, resumed) if is_document(first, resumed) else whole


def is_document(first: Record, resumed: bool) -> bool:
    """Whether a file is one document, by its first record; `resumed` files begin at an item of it.

    A rollout of lines is resumed at a whole record, so what is none there is a piece of a document."""
    if _BEGINS.match(first.raw):
        return True
    return resumed and first.raw[:1] == b"{" and not begins_with_record(first.raw)


def objects(lines: Iterable[Record], resumed: bool) -> Iterator[Record]:
    """The session object and the items as records with the places where they stand."""
    depth = INSIDE if resumed else 0
    parts: list[bytes] = []
    start = opened = 0
    for line in lines:
        begun = 0
        for token in _TOKENS.finditer(line.raw):
            if token[0] in (b"{", b"["):
                if not parts and token[0] == b"{" and depth in (1, INSIDE):
                    start, begun, opened = line.offset + token.start(), token.start(), depth
                    parts.append(b"")
                depth += 1
            elif token[0] in (b"}", b"]"):
                depth -= 1
                if parts and depth == opened:
                    raw = b"".join([*parts, line.raw[begun : token.end()]])
                    yield Record(start, raw, len(raw))
                    parts = []
        if parts:
            parts += [line.raw[begun:], b"\n"]
