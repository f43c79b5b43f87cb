"""Reading a log that may be damaged anywhere, or is being written to at this moment.

Every newline is a place to begin again: a damaged line costs itself and no other. An unfinished last line is no damage:
it is not yet written. Three modes, by how much damage they put up with:

- `strict`: none at all, not even an unfinished last line;
- `tail`: an unfinished last line, which the next append will mend;
- `salvage`: anything. What can be read is given, also from within a damaged line; the rest is told as problems.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from muniment import files
from muniment.errors import StoreError
from muniment.model import Problem, codec
from muniment.sources.lines import records

Mode = Literal["strict", "tail", "salvage"]
_ATTEMPTS = 64
"""How often a damaged line is tried for a record that begins inside it."""
_WITHIN = (b":", b",", b"[")
"""An object behind one of these is a value of the damaged record: words of somebody else, and no record."""


class Line(Struct, frozen=True, gc=False):
    """One record of a log."""

    offset: int
    number: int
    """Of the line it stands on, from 1."""
    raw: bytes


def read(path: Path, mode: Mode = "salvage", problems: list[Problem] | None = None) -> Iterator[Line]:
    """The records of one file in order. Damage goes to `problems`, or is raised where the mode does not bear it."""
    told: list[Problem] = problems if problems is not None else []
    for number, record in enumerate(records(files.chunks(path)), 1):
        if record.torn and mode != "strict" and b"\0" not in record.raw and record.length == len(record.raw):
            return
        if not record.length:
            continue
        if is_record(record.raw):
            if record.torn:
                raise _damaged(Problem(str(path), record.offset, "an unfinished last line", record.length))
            yield Line(record.offset, number, record.raw)
            continue
        problem = Problem(str(path), record.offset, _what(record.raw, record.length), record.length)
        if mode != "salvage":
            raise _damaged(problem)
        told.append(problem)
        yield from salvage(record.raw, record.offset, number)


def is_record(line: bytes) -> bool:
    """Whether a line is one JSON object."""
    try:
        return line[:1] == b"{" and isinstance(codec.loads(line), dict)
    except ValueError:
        return False


def salvage(line: bytes, offset: int, number: int) -> Iterator[Line]:
    """The records inside a damaged line: behind NULs, glued to one another, or after a torn one."""
    at, attempts = line.find(b"{"), 0
    while at >= 0 and attempts < _ATTEMPTS:
        if line[max(0, at - 8) : at].rstrip()[-1:] in _WITHIN:
            at = line.find(b'{"', at + 1)
            continue
        attempts += 1
        length = _object_length(line[at:])
        if length and length > 2:
            yield Line(offset + at, number, line[at : at + length])
            at = line.find(b"{", at + length)
        else:
            at = line.find(b'{"', at + 1)


def _object_length(data: bytes) -> int:
    """Bytes of the JSON object that these begin with; 0 if they do not."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return 0
    return len(text[:end].encode("utf-8", "surrogateescape")) if isinstance(value, dict) else 0


def _what(line: bytes, length: int) -> str:
    if len(line) < length:
        return f"a line of {length} bytes is too long to be read"
    if not line.strip():
        return "an empty line"
    if not line.strip(b"\0"):
        return f"{len(line)} NUL bytes"
    if b"\0" in line:
        return f"{line.count(0)} NUL bytes in a line"
    if line[:1] == b"{" and 0 < _object_length(line) < len(line):
        return "several records glued into one line"
    return "not a record"


def _damaged(problem: Problem) -> StoreError:
    return StoreError(str(problem), "read it in `salvage` mode to get what is whole")
