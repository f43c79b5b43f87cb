"""Data exports: one JSON array that holds all conversations of an account.

Every conversation is a session, and the file is divided among them: the part of a session is its own object with what
stands between it and the one before, and the last has what follows too. So every byte is kept exactly once, with the
conversation that it belongs to. A restore gives each part a file of its own, named by where it began:

    conversations.json.parts/000000000000-<id>.json
    conversations.json.parts/000000018231-<id>.json

All of them, put one behind the other in the order of their names, are the export.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast

import msgspec
from msgspec import structs

from muniment import files
from muniment.model import codec
from muniment.sources.base import Found, SourceFile, bytes_of, found_session, source_file
from muniment.sources.chats import beginning, flat, unread
from muniment.sources.lines import MAX_LINE_BYTES

DAMAGE = (ValueError, RecursionError)
"""What is raised by whatever decodes bytes that are not what they should be."""

T = TypeVar("T")

_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:"(?:[^"\\]++|\\.)*+"[^"{}\[\]]*+)*+([{}\[\]])', re.DOTALL)
_NO_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:"(?:[^"\\]++|\\.)*+"[^"{}\[\]]*+)*+', re.DOTALL)
_STRING_END = re.compile(rb'(?:[^"\\]++|\\.)*+"', re.DOTALL)
_STRING_REST = re.compile(rb"(?:[^\"\\]++|\\.)*+", re.DOTALL)
_TOKEN = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)("?)(\s*:)?|[{}\[\]]', re.DOTALL)
_OPENING = (b"{", b"[")
_AROUND = b"[], \t\r\n\xef\xbb\xbf"
_UNSAFE = re.compile(r"[^\w.-]+")
_HEAD_BYTES = 8192
_TRUNCATED = "Input data was truncated"
_MAX_ID = 128


class Span(NamedTuple):
    """Where an object of an export lies."""

    start: int
    end: int


# -- finding


def gather(source: str, paths: Iterable[Path], root: Path, names: tuple[str, ...]) -> Iterator[Found]:
    """Every conversation of these exports; `names` are those of the field that holds its id."""
    for path in paths:
        if whole := source_file(path, root, "main"):
            yield from _sessions(source, whole, root, names)


def _sessions(source: str, whole: SourceFile, root: Path, names: tuple[str, ...]) -> Iterator[Found]:
    found = _conversations(whole, names)
    begin = 0
    met: dict[str, int] = {}
    for number, (span, own) in enumerate(found):
        end = whole.size if number == len(found) - 1 else span.end
        met[own] = met.get(own, 0) + 1
        native_id = own if met[own] == 1 else f"{own} {met[own]}"
        part = whole if len(found) == 1 else _part(whole, begin, end, native_id)
        yield found_session(source, native_id, root, False, (part,))
        begin = end


def _conversations(whole: SourceFile, names: tuple[str, ...]) -> list[tuple[Span, str]]:
    """Where the conversations of an export lie, and the id of each."""
    if whole.size > MAX_LINE_BYTES:
        return [(span, _id(_read(whole, span), names)) for span in objects(bytes_of(whole))]
    data = b"".join(bytes_of(whole))
    return [(span, _id(data[span.start : span.end], names)) for span in elements(data) or objects([data])]


def _read(whole: SourceFile, span: Span) -> bytes:
    """An object of an export, as much of it as may be held."""
    return b"".join(files.chunks(Path(whole.path), span.start, min(span.end, span.start + MAX_LINE_BYTES)))


def _part(whole: SourceFile, begin: int, end: int, native_id: str) -> SourceFile:
    name = f"{whole.name}.parts/{begin:012d}-{_UNSAFE.sub('-', native_id)}.json"
    return structs.replace(whole, name=name, size=end - begin, start=begin)


def _id(raw: bytes, names: tuple[str, ...]) -> str:
    """The conversation's own id, else a hash of it."""
    known = _strings(raw, names)
    own = next((known[name] for name in names if known.get(name)), "")
    return own if own and len(own) <= _MAX_ID and own.isprintable() else hashlib.sha256(raw).hexdigest()


def apart(raw: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """The fields of an object, each as it stands there. Raises one of `DAMAGE` if it is none.

    The quick decoder refuses half of a character, as it is left where a program cut a text: such an object is decoded
    as a whole, and its fields are written again."""
    try:
        return msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        value = codec.loads(bytes(raw))
        if not isinstance(value, dict):
            raise
        return {name: msgspec.Raw(codec.encode(inner)) for name, inner in codec.mapping(value).items()}


def listed(raw: bytes | msgspec.Raw) -> list[msgspec.Raw]:
    """The same for the values of a list."""
    try:
        return msgspec.json.decode(raw, type=list[msgspec.Raw])
    except msgspec.DecodeError:
        value = codec.loads(bytes(raw))
        if not isinstance(value, list):
            raise
        return [msgspec.Raw(codec.encode(inner)) for inner in cast("list[Any]", value)]


def _strings(raw: bytes, names: tuple[str, ...]) -> dict[str, str]:
    """Fields of an object, wherever in it they stand; of a damaged one those at its beginning."""
    try:
        found = apart(raw)
        values = {name: codec.loads(bytes(found[name])) for name in names if name in found}
    except DAMAGE:
        return fields(raw[:_HEAD_BYTES])
    return {name: value for name, value in values.items() if isinstance(value, str)}


def fields(head: bytes) -> dict[str, str]:
    """The names of an object's fields, with what is said where that is a string, as far as its beginning goes."""
    found: dict[str, str] = {}
    depth, name = 0, ""
    for token in _TOKEN.finditer(head):
        if token[0] in _OPENING:
            depth += 1
            if depth == 2 and extent(memoryview(head)[token.start() :]) == "cut":
                break  # all that follows is inside this value
        elif token[0] in (b"}", b"]"):
            depth -= 1
            if not depth:
                break
        elif not token[2]:
            break  # the beginning ends inside a string; every quote in it would be looked at again
        elif depth == 1 and token[3]:
            name = token[1].decode("utf-8", "replace")
            found.setdefault(name, "")
        elif depth == 1 and name:
            found[name] = found[name] or token[1].decode("utf-8", "replace")
            name = ""
    return found


def extent(data: bytes | memoryview) -> Literal["whole", "cut", "unknown"]:
    """Whether these bytes are one JSON value, or the beginning of one: far faster than by its brackets.

    What is unknown may be anything: several values, damage, or a value that is cut inside a number.
    """
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except DAMAGE as error:
        return "cut" if str(error) == _TRUNCATED else "unknown"
    return "whole"


# -- taking apart


def objects(pieces: Iterable[bytes]) -> Iterator[Span]:
    """Where the objects lie: those of an array, or those that follow each other. Memory holds one piece."""
    return _Scanner().spans(pieces)


def elements(data: bytes) -> list[Span]:
    """The same of an array that is whole, far faster than by its brackets; nothing if it is not."""
    try:
        found = msgspec.json.decode(data, type=list[msgspec.Raw])
    except DAMAGE:
        return []
    spans: list[Span] = []
    end = data.index(b"[") + 1
    for raw in map(memoryview, found):
        start = data.index(raw[:1], end)  # nothing but a comma and blanks stands between two values
        end = start + len(raw)
        if data.startswith(b"{", start):
            spans.append(Span(start, end))
    return spans


class _Scanner:
    """How deep a JSON text is nested, piece by piece."""

    def __init__(self) -> None:
        self.depth = 0
        self.within = 0
        """Depth at which the objects stand: 1 in an array."""
        self.begun: int | None = None
        self.in_string = False
        self.offset = 0
        """Of the rest of the last piece."""

    def spans(self, pieces: Iterable[bytes]) -> Iterator[Span]:
        rest = b""
        for piece in pieces:
            data = rest + piece
            at = yield from self._brackets(data)
            rest = data[at:]
            self.offset += at
        if self.begun is not None:
            yield Span(self.begun, self.offset + len(rest))

    def _brackets(self, data: bytes) -> Generator[Span, None, int]:
        """All brackets of a piece; how far it was read is what comes back."""
        at = 0
        if self.in_string:
            end = _STRING_END.match(data)
            if not end:
                return _matched(_STRING_REST, data, 0)
            at, self.in_string = end.end(), False
        while bracket := _BRACKET.match(data, at):
            at = bracket.end()
            if self.depth > self.within + 1:  # inside an object nothing but the depth counts
                self.depth += 1 if bracket[1] in _OPENING else -1
            else:
                yield from self._bracket(bracket[1], self.offset + at - 1)
        at = _matched(_NO_BRACKET, data, at)
        if at < len(data):
            self.in_string = True
            at = _matched(_STRING_REST, data, at + 1)
        return at

    def _bracket(self, bracket: bytes, at: int) -> Iterator[Span]:
        if bracket in _OPENING:
            if bracket == b"[" and self.depth == 0 and self.begun is None:
                self.within = 1
            elif self.depth == self.within and bracket == b"{":
                self.begun = at
            self.depth += 1
            return
        self.depth = max(0, self.depth - 1)
        if self.begun is not None and self.depth <= self.within:
            yield Span(self.begun, at + 1)
            self.begun = None
        if self.depth == 0:
            self.within = 0


def _matched(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    found = pattern.match(data, at)
    return found.end() if found else at


def whole(raw: bytes) -> bytes:
    """These bytes, if they are one JSON value; what is not raises one of `DAMAGE`."""
    msgspec.json.decode(raw, type=msgspec.Raw)
    return raw


def as_it_is(raw: bytes) -> Iterable[bytes]:
    """An object as one line."""
    return (flat(raw) + b"\n",)


def lines(
    pieces: Iterable[bytes],
    make: Callable[[T], Iterable[bytes]],
    take_apart: Callable[[bytes], T] = whole,
    otherwise: Callable[[bytes], Iterable[bytes]] = as_it_is,
) -> Iterator[bytes]:
    """The lines of every object; what is no object and stands between is a line too.

    `make` makes them of what `take_apart` gives; where that raises one of `DAMAGE`, `otherwise` does of the bytes.
    An object larger than any line may be is told of by a line that cannot be read: it is kept, and damage to a reader.
    """

    def made(raw: bytes) -> Iterable[bytes]:
        known = _taken_apart(raw, take_apart)
        return otherwise(raw) if known is None else make(known)

    begun, rest = beginning(pieces)
    alone = begun.strip(_AROUND)  # the part of most sessions is one object and no other
    if (known := _taken_apart(alone, take_apart)) is not None:
        yield from make(known)
    elif _taken_apart(alone, whole):
        yield from otherwise(alone)
    else:
        yield from _one_by_one(chain([begun], rest), made)


def _taken_apart(raw: bytes, take_apart: Callable[[bytes], T]) -> T | None:
    """What these bytes hold, if they are one object."""
    try:
        return take_apart(raw) if raw.startswith(b"{") else None
    except DAMAGE:
        return None


def _one_by_one(pieces: Iterable[bytes], make: Callable[[bytes], Iterable[bytes]]) -> Iterator[bytes]:
    held = _Held()
    for span in objects(held.noting(pieces)):
        yield from _odd(held.take(span.start))
        lost = held.lost
        raw = held.take(span.end)
        yield from make(raw) if not lost else (unread(f"an object of {lost + len(raw)} bytes is kept and not read"),)
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
    if odd := raw.strip(_AROUND):
        yield flat(odd) + b"\n"
