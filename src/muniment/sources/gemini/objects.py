"""The objects of a session, wherever they stand.

Lines hold one object each. In two cases messages stand in a list instead: the old document
`{"sessionId": …, "messages": […]}`, which is spread over lines, and the first `{"$set":{"messages":[…]}}` of a file,
which tells a history that no line before it told. There every message is taken out with the place where it stands, so
that a round can begin at it and a reader can, too. A later `$set` only repeats the history and stays one object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct, structs

from muniment.model import codec
from muniment.sources.lines import Record
from muniment.sources.raw_json import unmarked
from muniment.sources.salvage import begins_with_record

_LIST_OPENS = re.compile(rb'"messages"\s*:\s*\[\s*')
_LIST_LINE = re.compile(rb'\s*"messages"\s*:\s*\[\s*')
_REPEATED = b'{"$set":'
_INSIDE = b'{"messages":['
END = b'{"$end":'
"""Stands before the fields that follow the list of a document."""


class _Listed(Struct):
    messages: list[msgspec.Raw]


class _Change(Struct):
    change: _Listed = msgspec.field(name="$set")


def objects(lines: Iterable[Record], resumed: bool) -> Iterator[Record]:
    """The objects of a file; a `resumed` one begins at a message, which may stand in a list."""
    rest = iter(lines)
    first = next(rest, None)
    if first is None:
        return
    first = _unmarked(first)
    begins_inside = resumed and not begins_with_record(first.raw)
    if first.raw.strip() == b"{" or (begins_inside and first.raw[:1] == b"{" and not first.raw.rstrip().endswith(b"}")):
        yield from _spread(chain([first], rest), begins_inside)
        return
    if begins_inside and (listed := _listed(_INSIDE + first.raw) or _listed(_INSIDE + first.raw.rstrip()[:-1])):
        yield from _members(first, listed)
        first = next(rest, None)
    said = resumed
    for line in chain([first] if first else [], rest):
        listed = None if said else _listed(line.raw)
        if listed is None:
            said = said or _is_message(line.raw)
            yield line
        else:
            said = True
            yield from _around(line)
            yield from _members(line, listed)


def _unmarked(line: Record) -> Record:
    """A first line without a byte order mark, with the place where the rest stands."""
    marked = len(line.raw) - len(raw := unmarked(line.raw))
    return structs.replace(line, offset=line.offset + marked, raw=raw, length=line.length - marked) if marked else line


def _is_message(raw: bytes) -> bool:
    return raw[:6] == b'{"id":' or b'"type"' in raw[:4096]


# -- lists that stand on one line


def _listed(raw: bytes) -> list[msgspec.Raw] | None:
    """The messages of a list on one line; behind one that a reader begins in, a change has a brace too many."""
    if not _LIST_OPENS.search(raw) or not codec.is_json(raw):
        return None
    try:
        if raw.lstrip().startswith(_REPEATED):
            return msgspec.json.decode(raw, type=_Change).change.messages
        return msgspec.json.decode(raw, type=_Listed).messages
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _members(line: Record, listed: list[msgspec.Raw]) -> Iterator[Record]:
    at = 0
    for member in listed:
        raw = bytes(member)
        at = line.raw.index(raw, at)
        yield Record(line.offset + at, raw, len(raw))
        at += len(raw)


def _around(line: Record) -> Iterator[Record]:
    """The line without its list."""
    value = codec.mapping(codec.loads(line.raw))
    change = codec.mapping(value.get("$set")) if "$set" in value else value
    fields: dict[str, Any] = {name: inner for name, inner in change.items() if name != "messages"}
    yield Record(line.offset, codec.encode({"$set": fields} if "$set" in value else fields), line.length)


# -- a document that is spread over lines


def _spread(lines: Iterable[Record], inside: bool) -> Iterator[Record]:
    """The fields before the list, the messages, the fields behind it. What is cut off is not yet there."""
    rest = iter(lines)
    if not inside:
        yield from _head(rest)
    yield from _until_end(rest, b"" if inside else None)


def _head(lines: Iterator[Record]) -> Iterator[Record]:
    """The fields before the list; a document without one is a single object."""
    raws: list[bytes] = []
    start = end = 0
    for line in lines:
        start = start if raws else line.offset
        end = line.offset + line.length
        raws.append(line.raw)
        if _LIST_LINE.fullmatch(line.raw):
            yield Record(start, b"\n".join(raws) + b"]}", end - start)
            return
    if raws:
        yield Record(start, b"\n".join(raws), end - start, torn=True)


def _until_end(lines: Iterator[Record], indent: bytes | None) -> Iterator[Record]:
    """Messages up to the end of the list; a first one whose `indent` is empty was cut in front of its brace."""
    parts: list[bytes] = []
    start = 0
    for line in lines:
        bare = line.raw.strip()
        if parts:
            parts.append(line.raw)
            if bare in (b"}", b"},") and (not indent or line.raw.startswith(indent + b"}")):
                raw = b"\n".join(parts).rstrip(b",\r ")
                if indent or codec.is_json(raw):
                    yield Record(start, raw, len(raw))
                    parts = []
        elif bare.startswith(b"{"):
            before = len(line.raw) - len(line.raw.lstrip())
            if codec.is_json(bare.rstrip(b",")):
                yield Record(line.offset + before, bare.rstrip(b","), len(bare.rstrip(b",")))
                continue
            indent, start = line.raw[:before], line.offset + before
            parts = [line.raw[before:]]
        elif bare.startswith(b"]"):
            yield from _tail(chain([line], lines))
            return


def _tail(lines: Iterable[Record]) -> Iterator[Record]:
    """The fields behind the list."""
    raws: list[bytes] = []
    start = end = 0
    for line in lines:
        start = start if raws else line.offset
        end = line.offset + line.length
        raws.append(line.raw)
    fields = b"\n".join(raws).strip().removeprefix(b"]").lstrip(b", \r\n")
    raw = END + b"{" + fields + b"}"
    if codec.is_json(raw):
        yield Record(start, raw, end - start)
