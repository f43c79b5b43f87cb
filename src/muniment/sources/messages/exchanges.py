"""A file as lines, one for each message or item; `request` and `response` lines around them hold all else.

A log repeats the whole conversation with every request. What a request has in common with the one before it, from its
beginning on, is not said again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import Any, cast

import msgspec

from muniment.model import codec
from muniment.sources import object_lines
from muniment.sources.messages import shapes, stream

_GIVEN = ("messages", "input")
_PIECE_BYTES = 1 << 16
Message = dict[str, Any] | msgspec.Raw
"""A message; most need not be decoded for being put on a line."""
_shallow = msgspec.json.Decoder(dict[str, list[msgspec.Raw] | dict[str, Any] | str | int | float | bool | None])


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The conversation of a file, in pieces of some lines: one for each would cost more."""
    held: list[bytes] = []
    size = 0
    for line in one_by_one(pieces, _without_blanks):
        held.append(line)
        size += len(line)
        if size >= _PIECE_BYTES:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


def one_by_one(pieces: Iterable[bytes], write: Callable[[Message], bytes]) -> Iterator[bytes]:
    """The same, each line by itself; `write` writes the messages of a list."""
    said = _Conversation(write)
    return object_lines.lines(pieces, said.lines, _decoded, said.leniently)


def written_anew(message: Message) -> bytes:
    """A message in the one way that does not depend on how the file writes it."""
    return codec.encode(_fields(message) or message)


def _without_blanks(message: Message) -> bytes:
    """As a file writes it; but a copy may be indented, and is no other conversation."""
    return msgspec.json.format(message, indent=-1) if isinstance(message, msgspec.Raw) else codec.encode(message)


def _decoded(raw: bytes) -> tuple[bytes, Any]:
    return raw, _shallow.decode(raw)


class _Conversation:
    """What was said so far."""

    def __init__(self, write: Callable[[Message], bytes]) -> None:
        self.write = write
        self.said: list[bytes] = []
        """Of the last exchange: a hash of every message."""
        self.added: list[Message] = []
        """Its messages behind those: hashed once another object comes, as in most files none does."""
        self.asked: dict[str, Any] = {}
        """What the last request had beside its messages."""
        self.at: dict[str, Any] = {}
        """When the exchange took place, where the log says so."""
        self.met: set[str] = set()
        """Ids of messages in envelopes."""

    def leniently(self, raw: bytes) -> Iterator[bytes]:
        """An object that the quick decoder refuses."""
        try:
            return self.lines((raw, codec.loads(raw)))
        except ValueError:
            return self.lines((raw, None))

    def lines(self, decoded: tuple[bytes, Any]) -> Iterator[bytes]:
        """One object of the file; what cannot be read or has no known shape is a line as it is."""
        self.said += map(_hash, self.added)
        self.added = []
        raw, value = decoded[0], codec.mapping(decoded[1])
        exchange = {} if shapes.is_message(value) else _opened(value)
        if stream.holds_message(exchange):
            yield self.write(stream.taken_out(exchange, self.met)) + b"\n"
        elif shapes.is_exchange(exchange):
            yield from (self.write(line) + b"\n" for line in self._exchange(exchange))
        else:
            yield from object_lines.as_it_is(raw)

    def _exchange(self, value: dict[str, Any]) -> Iterator[Message]:
        request, answer = codec.mapping(value.get("request")), codec.mapping(value.get("response"))
        at = next((value[name] for name in shapes.TIMES if name in value), None)
        self.at = {"timestamp": at} if at else {}
        if request or answer:
            left_out = ("request", "response", *shapes.TIMES)
            around = {name: other for name, other in value.items() if name not in left_out}
            yield from self._request(around | request)
            yield from self._answer(answer)
        elif "choices" in value or ("output" in value and "messages" not in value):
            yield from self._request({name: value[name] for name in _GIVEN if name in value})
            yield from self._answer({name: other for name, other in value.items() if name not in _GIVEN})
        else:
            yield from self._request(value)

    def _request(self, body: dict[str, Any]) -> Iterator[Message]:
        """What is new in a request."""
        about = {name: other for name, other in body.items() if name not in _GIVEN}
        if about and about != self.asked:
            yield {"type": "request", **{name: other for name, other in about.items() if name != "type"}}
            self.asked = about
        given = body.get("messages") if "messages" in body else body.get("input")
        said: list[Message] = [{"role": "user", "content": given}] if isinstance(given, str) else _messages(given)
        common = self._in_common(said)
        yield from map(self._dated, said[common:]) if self.at else said[common:]
        if said:
            self.said, self.added = self.said[:common], said[common:]

    def _dated(self, message: Message) -> Message:
        fields = _fields(message)
        return self.at | fields if fields else message

    def _in_common(self, said: list[Message]) -> int:
        """How many of these messages the last exchange began with."""
        pairs = zip(said, self.said, strict=False)
        return sum(1 for _ in takewhile(lambda pair: _hash(pair[0]) == pair[1], pairs))

    def _answer(self, body: dict[str, Any]) -> Iterator[Message]:
        """An answer as messages, and a line of what it cost."""
        if not body:
            return
        if shapes.is_message(body):
            said, about = [body], {}
        else:
            chosen = [codec.mapping(choice.get("message")) for choice in _objects(body.get("choices"))]
            said = [message for message in chosen if message] or _objects(body.get("output"))
            about = {name: other for name, other in body.items() if name not in ("choices", "output", "type")}
        yield from (self.at | message for message in said)
        self.added = [*self.added, *said]
        if about:
            yield {"type": "response", **about}


def _hash(message: Message) -> bytes:
    """Of what a message says: an answer has an id and a price where it is given, and not where it is repeated."""
    fields = _fields(message) or {"content": message}
    told = {name: fields[name] for name in sorted(fields) if name in ("role", "content", "tool_calls", "call_id")}
    told |= {"output": fields.get("output"), "arguments": fields.get("arguments")}
    return hashlib.blake2b(codec.encode(told), digest_size=16).digest()


def _fields(message: Message) -> dict[str, Any]:
    """Of a message; none if it is no object, or cannot be read."""
    try:
        return codec.mapping(_plain(message))
    except ValueError:
        return {}


def _plain(value: Any) -> Any:
    return codec.loads(bytes(value)) if isinstance(value, msgspec.Raw) else value


def _opened(value: dict[str, Any]) -> dict[str, Any]:
    """An object with its lists decoded, of those of messages only what tells them; nothing if that cannot be."""
    try:
        return {name: _entries(name, inner) for name, inner in value.items()}
    except ValueError:
        return {}


def _entries(name: str, value: Any) -> Any:
    if not isinstance(value, list):
        return value
    listed = cast("list[Any]", value)
    told = 1 if name in _GIVEN else len(listed)
    return [*map(_plain, listed[:told]), *listed[told:]]


def _messages(value: Any) -> list[Message]:
    listed = cast("list[Any]", value) if isinstance(value, list) else []
    return [entry if isinstance(entry, msgspec.Raw) else codec.mapping(entry) for entry in listed]


def _objects(value: Any) -> list[dict[str, Any]]:
    return [codec.mapping(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else []
