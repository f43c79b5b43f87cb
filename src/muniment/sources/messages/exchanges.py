"""A file as lines, one for each message or item; `request` and `response` lines around them hold all else.

A log repeats the whole conversation with every request. What a request has in common with the one before it, from its
beginning on, is not said again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any, cast

import msgspec

from muniment.model import codec
from muniment.sources import object_lines
from muniment.sources.messages import shapes

_GIVEN = ("messages", "input")


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The conversation of a file."""
    said = _Conversation()
    return object_lines.lines(pieces, said.lines, _decoded, said.leniently)


def _decoded(raw: bytes) -> tuple[bytes, Any]:
    return raw, msgspec.json.decode(raw)


class _Conversation:
    """What was said so far."""

    def __init__(self) -> None:
        self.said: list[bytes] = []
        """Of the last exchange: a hash of every message."""
        self.added: list[dict[str, Any]] = []
        """Its messages behind those: hashed once another object comes, as in most files none does."""
        self.asked: dict[str, Any] = {}
        """What the last request had beside its messages."""
        self.at: dict[str, Any] = {}
        """When the exchange took place, where the log says so."""

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
        if value and not shapes.is_message(value) and shapes.is_exchange(value):
            yield from (codec.encode(line) + b"\n" for line in self._exchange(value))
        else:
            yield from object_lines.as_it_is(raw)

    def _exchange(self, value: dict[str, Any]) -> Iterator[dict[str, Any]]:
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

    def _request(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What is new in a request."""
        about = {name: other for name, other in body.items() if name not in _GIVEN}
        if about and about != self.asked:
            yield {"type": "request", **{name: other for name, other in about.items() if name != "type"}}
            self.asked = about
        given = body.get("messages") if "messages" in body else body.get("input")
        said = [{"role": "user", "content": given}] if isinstance(given, str) else _objects(given)
        common = self._in_common(said)
        yield from (self.at | message for message in said[common:])
        if said:
            self.said, self.added = self.said[:common], said[common:]

    def _in_common(self, said: list[dict[str, Any]]) -> int:
        """How many of these messages the last exchange began with."""
        pairs = zip(said, self.said, strict=False)
        return sum(1 for _ in takewhile(lambda pair: _hash(pair[0]) == pair[1], pairs))

    def _answer(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
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


def _hash(message: dict[str, Any]) -> bytes:
    """Of what a message says: an answer has an id and a price where it is given, and not where it is repeated."""
    told = {name: message[name] for name in sorted(message) if name in ("role", "content", "tool_calls", "call_id")}
    told |= {"output": message.get("output"), "arguments": message.get("arguments")}
    return hashlib.blake2b(codec.encode(told), digest_size=16).digest()


def _objects(value: Any) -> list[dict[str, Any]]:
    return [codec.mapping(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else []
