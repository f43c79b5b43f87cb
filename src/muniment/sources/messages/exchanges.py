"""A file as lines, one for each message or item; `request` and `response` lines around them hold all else.

A log repeats the whole conversation with every request. What a request has in common with the one before it, from its
beginning on, is not said again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.sources import exports
from muniment.sources.messages import shapes

_GIVEN = ("messages", "input")
_TIMES = ("timestamp", "created_at", "created", "time")


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The conversation of a file."""
    return exports.lines(pieces, _Conversation().lines)


class _Conversation:
    """What was said so far."""

    def __init__(self) -> None:
        self.said: list[bytes] = []
        """Of the last exchange: a hash of every message."""
        self.asked: dict[str, Any] = {}
        """What the last request had beside its messages."""
        self.at: dict[str, Any] = {}
        """When the exchange took place, where the log says so."""

    def lines(self, raw: bytes) -> Iterator[bytes]:
        """One object of the file; what cannot be read or has no known shape is a line as it is."""
        try:
            value = codec.mapping(codec.loads(raw))
        except ValueError:
            value = {}
        if value and not shapes.is_message(value) and shapes.is_exchange(value):
            yield from (codec.encode(line) + b"\n" for line in self._exchange(value))
        else:
            yield raw.replace(b"\n", b" ") + b"\n"

    def _exchange(self, value: dict[str, Any]) -> Iterator[dict[str, Any]]:
        request, answer = codec.mapping(value.get("request")), codec.mapping(value.get("response"))
        self.at = {"timestamp": at} if (at := next((value[name] for name in _TIMES if name in value), None)) else {}
        if request or answer:
            around = {name: other for name, other in value.items() if name not in ("request", "response", *_TIMES)}
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
        hashes = [_hash(message) for message in said]
        common = 0
        while common < min(len(hashes), len(self.said)) and hashes[common] == self.said[common]:
            common += 1
        yield from (self.at | message for message in said[common:])
        self.said = hashes or self.said

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
        self.said = [*self.said, *(_hash(message) for message in said)]
        if about:
            yield {"type": "response", **about}


def _hash(message: dict[str, Any]) -> bytes:
    """Of what a message says: an answer has an id and a price where it is given, and not where it is repeated."""
    told = {name: message[name] for name in sorted(message) if name in ("role", "content", "tool_calls", "call_id")}
    told |= {"output": message.get("output"), "arguments": message.get("arguments")}
    return hashlib.blake2b(codec.encode(told), digest_size=16).digest()


def _objects(value: Any) -> list[dict[str, Any]]:
    return [codec.mapping(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else []
