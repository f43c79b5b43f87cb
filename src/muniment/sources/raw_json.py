"""JSON as it stands in a file: where its values lie and what the fields of an object are, with nothing decoded that
need not be. A file may be damaged or cut, so whatever decodes may raise one of `DAMAGE`.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal, NamedTuple, cast

import msgspec

from muniment.model import codec

DAMAGE = (ValueError, RecursionError)
"""What is raised by whatever decodes bytes that are not what they should be."""

_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:"(?:[^"\\]++|\\.)*+"[^"{}\[\]]*+)*+([{}\[\]])', re.DOTALL)
_NO_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:"(?:[^"\\]++|\\.)*+"[^"{}\[\]]*+)*+', re.DOTALL)
_STRING_END = re.compile(rb'(?:[^"\\]++|\\.)*+"', re.DOTALL)
_STRING_REST = re.compile(rb"(?:[^\"\\]++|\\.)*+", re.DOTALL)
_TOKEN = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)("?)(\s*:)?|[{}\[\]]', re.DOTALL)
_OPENING = (b"{", b"[")
AROUND = b"[], \t\r\n\xef\xbb\xbf"
"""What stands around the objects of a file."""
_AT_ONCE = 64
_encoder = msgspec.json.Encoder()
_TRUNCATED = "Input data was truncated"


# -- one value


def unmarked(data: bytes) -> bytes:
    """The beginning of a file without the byte order mark that some editors put there: it is no JSON."""
    return data.removeprefix(b"\xef\xbb\xbf")


def whole(raw: bytes) -> bytes:
    """These bytes, if they are one JSON value; what is not raises one of `DAMAGE`."""
    msgspec.json.decode(raw, type=msgspec.Raw)
    return raw


def extent(data: bytes | memoryview) -> Literal["whole", "cut", "unknown"]:
    """Whether these bytes are one JSON value, or the beginning of one: far faster than by its brackets.

    What is unknown may be anything: several values, damage, or a value that is cut inside a number.
    """
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except DAMAGE as error:
        return "cut" if str(error) == _TRUNCATED else "unknown"
    return "whole"


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


def one_object(raw: bytes) -> dict[str, msgspec.Raw] | None:
    """The same, and None if these bytes are several objects, or one that the quick decoder refuses."""
    try:
        return msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except DAMAGE:
        return None


def listed(raw: bytes | msgspec.Raw) -> list[msgspec.Raw]:
    """The same for the values of a list."""
    try:
        return msgspec.json.decode(raw, type=list[msgspec.Raw])
    except msgspec.DecodeError:
        value = codec.loads(bytes(raw))
        if not isinstance(value, list):
            raise
        return [msgspec.Raw(codec.encode(inner)) for inner in cast("list[Any]", value)]


def together(fields: Mapping[str, Any]) -> bytes:
    """An object of fields, of which some stand as they were taken apart. The quick encoder refuses half of a character
    in a name or beside them: then all are written again."""
    try:
        return msgspec.json.encode(fields)
    except UnicodeEncodeError:
        return codec.encode({name: _plain(value) for name, value in fields.items()})


def lines(values: Iterable[Any]) -> Iterator[bytes]:
    """Such objects as lines, or values as they stand. Many at a time, as a piece for each would cost more."""
    rest = iter(values)
    while some := list(islice(rest, _AT_ONCE)):
        try:
            yield _encoder.encode_lines(some)
        except UnicodeEncodeError:
            yield from (together(fields) + b"\n" for fields in some)


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Raw):
        return codec.loads(bytes(value))
    return {name: _plain(inner) for name, inner in codec.mapping(value).items()} if isinstance(value, dict) else value


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


def place_of(head: bytes, name: str) -> int:
    """Where the value of an object's field begins, as far as its beginning goes; 0 if it has none of this name."""
    depth, wanted = 0, name.encode()
    for token in _TOKEN.finditer(head):
        if token[0] in _OPENING:
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
        elif not token[2]:
            break
        elif depth == 1 and token[3] and token[1] == wanted:
            return token.end()
    return 0


# -- the objects of a file


class Span(NamedTuple):
    """Where an object lies."""

    start: int
    end: int


def objects(pieces: Iterable[bytes], of_one_list: bool = False) -> Iterator[Span]:
    """Where the objects lie: those of an array, or those that follow each other. Memory holds one piece.

    Those `of_one_list` end with it, whatever stands behind."""
    return _Scanner(of_one_list).spans(pieces)


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

    def __init__(self, of_one_list: bool) -> None:
        self.of_one_list = of_one_list
        self.ended = False
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
        if self.ended:
            return
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
            self.within, self.ended = 0, self.of_one_list


def _matched(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    found = pattern.match(data, at)
    return found.end() if found else at
