"""One JSON document as lines: the same document with every entry of its list on a line of its own.

    {"info":{…},"messages":[
    {…}
    ,{…}
    ]}

So a format that keeps a session as one document is read like one that appends lines, with nothing in memory but the
entry that is open. Objects that stand one per line, without a document around them, come out as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from muniment.model import codec
from muniment.sources.raw_json import unmarked

_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}\[\]]', re.DOTALL)
_OPENING, _CLOSING = b"{[", b"}]"
_BETWEEN = b", \t\r\n"
_BEFORE_TAIL = b'{"":['
_NOT_JSON = (msgspec.DecodeError, RecursionError)
"""What is nested too deep is kept as something that cannot be read."""
INSIDE = 2
"""Depth of the entries: within the document and its list."""


class Part(NamedTuple):
    """One line of a document."""

    kind: Literal["head", "entry", "tail"]
    value: dict[str, Any]


def decode(raw: bytes) -> Part:
    """What a line holds: the fields before the list, one entry, or the fields behind it. Raises ValueError."""
    try:
        return _decoded(raw.strip(_BETWEEN))
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error


def _decoded(raw: bytes) -> Part:
    if raw.endswith(b"["):
        fields = codec.mapping(codec.loads(raw + b"]}"))
        return Part("head", dict(list(fields.items())[:-1]))
    if raw.startswith(b"]"):
        fields = codec.mapping(codec.loads(_BEFORE_TAIL + raw))
        return Part("tail", {name: value for name, value in fields.items() if name})
    value = codec.loads(raw)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return Part("entry", codec.mapping(value))


def lines(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The document as lines; `name` is that of its list. What is cut off at the end comes without a newline."""
    splitter = _Splitter(name)
    for piece in pieces:
        if made := b"".join(splitter.feed(piece)):
            yield made
    if rest := splitter.rest():
        yield rest


class _Splitter:
    """A document being taken apart."""

    def __init__(self, name: str) -> None:
        self.name = f'"{name}"'.encode()
        self.data = b""
        self.start = self.at = 0
        """Where the part that is open begins, and how far it was looked at."""
        self.depth = 0
        self.key = b""
        self.inside = False
        """Within the list."""
        self.comma = b""

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The lines that are whole now."""
        self.data = self.data[self.start :] + piece
        self.at -= self.start
        self.start = 0
        while token := _TOKENS.search(self.data, self.at):
            if token[1] == b"":  # a string that goes on in the next piece
                self.at = token.start()
                return
            self.at = token.end()
            yield from self._take(token[0], token.start())

    def rest(self) -> bytes:
        """What is left when the file ends inside a part."""
        return _flat(self.data[self.start :].strip(_BETWEEN))

    def _take(self, token: bytes, at: int) -> Iterator[bytes]:
        if token in _OPENING:
            yield from self._opened(token, at)
        elif token in _CLOSING:
            yield from self._closed()
        elif self.depth == 1:
            self.key = token

    def _opened(self, token: bytes, at: int) -> Iterator[bytes]:
        if self.depth == 0 or (self.inside and self.depth == INSIDE):
            yield from self._between(at)
            if self.inside and (end := self._likely_end(at)) and (line := _formatted(self.data[at:end])):
                self.at = end
                yield self._entry(line)
                return
        elif self.depth == 1 and token == b"[" and self.key == self.name:
            yield _head(self.data[self.start : self.at])
            self.start, self.inside, self.comma = self.at, True, b""
        self.depth += 1

    def _closed(self) -> Iterator[bytes]:
        self.depth = max(0, self.depth - 1)
        if self.inside and self.depth == INSIDE:
            yield self._entry(_line(self.data[self.start : self.at]))
        elif self.inside and self.depth == 1:
            yield from self._between(self.at - 1)
            self.inside = False
        elif self.depth == 0:
            yield _tail(self.data[self.start : self.at])
            self.start = self.at

    def _entry(self, line: bytes) -> bytes:
        made = self.comma + line
        self.start, self.comma = self.at, b","
        return made

    def _between(self, at: int) -> Iterator[bytes]:
        """What stands between two parts and does not belong there is kept as a line that cannot be read."""
        if odd := unmarked(self.data[self.start : at].strip(_BETWEEN)):
            yield _flat(odd) + b"\n"
        self.start = at

    def _likely_end(self, at: int) -> int:
        """The end of an entry that is on one line, or indented as most programs do; 0 if it is neither.

        A guess: what begins as an object can end in one place only, so one that can be read is right."""
        line_end = self.data.find(b"\n", at)
        if line_end < 0:
            return 0
        on_one_line = self.data[at:line_end].rstrip(_BETWEEN)
        if on_one_line.endswith(b"}"):
            return at + len(on_one_line)
        indent = self.data[self.data.rfind(b"\n", 0, at) + 1 : at]
        end = -1 if indent.strip() else self.data.find(b"\n" + indent + b"}", at)
        return end + len(indent) + 2 if end > 0 else 0


def _formatted(raw: bytes) -> bytes:
    """JSON on one line; nothing if it is none."""
    try:
        return msgspec.json.format(raw, indent=-1) + b"\n"
    except _NOT_JSON:
        return b""


def _line(raw: bytes) -> bytes:
    """An entry on one line; one that cannot be read keeps its bytes."""
    return _formatted(raw) or _flat(raw) + b"\n"


def _head(raw: bytes) -> bytes:
    try:
        return msgspec.json.format(raw + b"]}", indent=-1)[:-2] + b"\n"
    except _NOT_JSON:
        return _flat(raw) + b"\n"


def _tail(raw: bytes) -> bytes:
    """What follows the list, or a whole object that has none."""
    if not raw.startswith(b"]"):
        return _line(raw)
    try:
        return msgspec.json.format(_BEFORE_TAIL + raw, indent=-1)[len(_BEFORE_TAIL) :] + b"\n"
    except _NOT_JSON:
        return _flat(raw) + b"\n"


def _flat(raw: bytes) -> bytes:
    """Newlines are never part of a value in JSON, so a space may stand for each."""
    return raw.replace(b"\n", b" ")
