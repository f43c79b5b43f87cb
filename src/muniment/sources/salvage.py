"""What a line holds that is not one record: whole records behind a torn one, several in a row, NULs around them.

A writer that is killed leaves half a record without a newline, and the next one writes right behind it; a file system
leaves NULs where data did not reach the disk before a crash. What is whole is read, each record at its own place; what
lies between is a record too, which nobody can read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from muniment.model import codec
from muniment.sources.base import Claim, Source
from muniment.sources.lines import Record, too_long

T = TypeVar("T")

_OPENS = re.compile(r'\{\s*"')
_BLANKS = re.compile(r"(?:\xef\xbb\xbf)?[ \t\r\n]*")
_WITHIN = frozenset(":,[")
"""An object behind one of these is a value of the damaged record: words of somebody else, and no record."""
_GOES_ON = frozenset(":,]}")
"""What stands before one of these is a part of something larger."""
_NEAR = 8
"""Characters around a place that are looked at."""
_AT_FIRST = 1 << 12
"""Characters in which an object is looked for at first, so that a try costs what it reads and not the whole line."""
_TRIES = 1000
"""How often in a row a record may be looked for in vain."""

_scan = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode  # numbers may be too long to be made


def told(lines: Iterable[Record], decode: Callable[[bytes], T]) -> Iterator[tuple[Record, T | None, str]]:
    """Each record with what it holds, or with what is wrong with it; `decode` raises ValueError with that.

    Blank lines are left out, and so is what is not there in full yet."""
    for record in lines:
        if record.torn:
            yield from _told_apart(record, decode)
            continue
        try:
            value = decode(record.raw)
        except ValueError:
            yield from _told_apart(record, decode)
        else:
            yield record, value, ""


def _told_apart(record: Record, decode: Callable[[bytes], T]) -> Iterator[tuple[Record, T | None, str]]:
    if what := too_long(record):
        yield record, None, what
        return
    for part in parts(record):
        if part.torn and not codec.is_json(part.raw):
            continue
        try:
            yield part, decode(part.raw), ""
        except ValueError as error:
            yield part, None, str(error)


def claims(source: Source, record: Record) -> Iterator[Claim]:
    """Everything that a line says; where it says nothing as a whole, what the records in it say."""
    found = list(source.claims(record.raw))
    if found or not record.raw:
        yield from found
        return
    for part in parts(record):
        if part is not record:
            yield from source.claims(part.raw)


def begins_with_record(raw: bytes) -> bool:
    """Whether a whole object stands first, and not as a member of a list that goes on behind it."""
    text = raw.decode("latin-1")
    whole, end = _tried(text, 0)
    return whole and _stands_alone(text, end)


def parts(record: Record) -> Iterator[Record]:
    """A line's whole objects and what lies between them, each with its place; blanks are left out.

    What they are depends on nothing before them, so that reading may begin at any of the objects. A line that is not
    yet there to its end may still have records before that."""
    text = record.raw.decode("latin-1")  # a character for a byte: what counts here is ASCII
    begun = at = _behind_blanks(text, 0)
    tries = 0
    while at < len(text) and tries < _TRIES:
        whole, end = _tried(text, at)
        if whole and _stands_alone(text, end):
            if at > begun:
                yield _part(record, begun, at)
            begun = _behind_blanks(text, end)
            yield _part(record, at, end, last=begun == len(text))
            at, tries = begun, 0
        else:
            at, tries = _next_beginning(text, at, end), tries + 1
    if begun < len(text):
        yield _part(record, begun, len(text), last=True)


def _part(record: Record, start: int, end: int, last: bool = False) -> Record:
    if (start, end) == (0, record.length):
        return record
    return Record(record.offset + start, record.raw[start:end], end - start, torn=record.torn and last)


def _behind_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _stands_alone(text: str, end: int) -> bool:
    behind = _behind_blanks(text, end)
    return text[behind : behind + 1] not in _GOES_ON


def _tried(text: str, at: int) -> tuple[bool, int]:
    """Whether a whole object begins at a place, and where it ends; if none does, where it goes wrong."""
    if not text.startswith("{", at):
        return False, at
    size = _AT_FIRST
    while True:
        piece = text[at : at + size]
        is_all = at + size >= len(text)
        try:
            return True, at + _scan(piece)[1]
        except json.JSONDecodeError as error:
            open_string = error.msg.startswith("Unterminated string")  # which is told with its beginning
            if is_all:
                return False, len(text) if open_string else at + error.pos
            if not open_string and error.pos < size - _NEAR:
                return False, at + error.pos
        except RecursionError:
            return False, at + 1
        size *= 4


def _next_beginning(text: str, at: int, wrong: int) -> int:
    """Where a record may begin behind one that goes wrong.

    The tear shows where it goes wrong: at a brace where none can be, or, if it went through a string, right behind
    the next quote, which is the first one of the record that follows. A brace anywhere else must not be a value's."""
    for found in _OPENS.finditer(text, max(at + 1, wrong - _NEAR)):
        place = found.start()
        if place == wrong or found.end() == wrong or text[max(0, place - _NEAR) : place].rstrip()[-1:] not in _WITHIN:
            return place
    return len(text)
