"""A file as lines, one for each message or item; `request` and `response` lines around them hold all else.

A log repeats the whole conversation with every request, and helpers have conversations of their own in between. What a
request has in common with one of the last few, from its beginning on, is not said again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import msgspec
from msgspec import Struct

from muniment.model import codec
from muniment.sources import object_lines
from muniment.sources.messages import alike, printed, shapes, sides, stream

_PIECE_BYTES = 1 << 16
_REMEMBERED = 8
"""Conversations that may go on."""
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
    said = _Log(write)
    yield from object_lines.lines(pieces, said.lines, _decoded, said.leniently)
    yield from said.written(said.printed.flush())


def written_anew(message: Message) -> bytes:
    """A message in the one way that does not depend on how the file writes it."""
    return codec.encode(_fields(message) or message)


def _without_blanks(message: Message) -> bytes:
    """As a file writes it; but a copy may be indented, and is no other conversation."""
    return msgspec.json.format(message, indent=-1) if isinstance(message, msgspec.Raw) else codec.encode(message)


def _decoded(raw: bytes) -> tuple[bytes, Any]:
    return raw, _shallow.decode(raw)


class _Conversation(Struct, eq=False):
    """One of those that a log has."""

    said: list[bytes]
    """A hash of every message."""
    asked: dict[str, Any]
    """What the last request had beside its messages."""


class _Log:
    """What was said so far."""

    def __init__(self, write: Callable[[Message], bytes]) -> None:
        self.write = write
        self.told = [_Conversation([], {})]
        """The conversations that went on last, the latest at the end."""
        self.added: list[Message] = []
        """Messages of the latest behind those: hashed once another object comes, as in most files none does."""
        self.at: dict[str, Any] = {}
        """When the exchange took place, where the log says so."""
        self.met: set[str] = set()
        """Ids of messages in envelopes."""
        self.printed = printed.Printed()

    def leniently(self, raw: bytes) -> Iterator[bytes]:
        """An object that the quick decoder refuses."""
        try:
            return self.lines((raw, codec.loads(raw)))
        except ValueError:
            return self.lines((raw, None))

    def lines(self, decoded: tuple[bytes, Any]) -> Iterator[bytes]:
        """One object of the file; what cannot be read or has no known shape is a line as it is."""
        self.told[-1].said += map(_hash, self.added)
        self.added = []
        raw, value = decoded[0], codec.mapping(decoded[1])
        if printed.is_line(value):
            yield from self.written(self.printed.take(_opened(value)))
            return
        repeated = self.printed.held is not None and self.printed.repeats(_opened(value))
        self.printed.note(value)
        yield from self.written(self.printed.flush())
        if repeated:
            return
        exchange = {} if shapes.is_message(value) else _opened(value)
        if stream.holds_message(exchange):
            yield self.write(stream.taken_out(exchange, self.met)) + b"\n"
        elif shapes.is_exchange(exchange):
            yield from self.written(self._exchange(exchange))
        else:
            yield from object_lines.as_it_is(raw)

    def written(self, messages: Iterable[Message]) -> Iterator[bytes]:
        """Messages as lines."""
        return (self.write(message) + b"\n" for message in messages)

    def _exchange(self, value: dict[str, Any]) -> Iterator[Message]:
        name, at = next(((name, value[name]) for name in shapes.TIMES if name in value), ("", None))
        self.at = {"timestamp": at} if at else {}
        asked, answer = sides.parted(value)
        yield from self._request(asked, begun=name in shapes.BEGUN and not answer)
        if not _repeats(asked, answer):
            yield from self._answer(answer)

    def _request(self, body: dict[str, Any], begun: bool) -> Iterator[Message]:
        """What is new in a request; `begun` if its time is when a document was begun, and not that of all messages."""
        given = body.get("messages") if "messages" in body else body.get("input")
        said: list[Message] = [{"role": "user", "content": given}] if isinstance(given, str) else _messages(given)
        common = self._taken_up(said) if said else 0
        new, undated = said[common:], _after_first(said) if begun else len(said)
        about, latest = {name: other for name, other in body.items() if name not in sides.GIVEN}, self.told[-1]
        if about and about != latest.asked:
            yield {"type": "request", **{name: other for name, other in about.items() if name != "type"}}
            latest.asked = about
        dated = new[: max(0, undated - common)] if self.at else []
        yield from map(self._dated, dated)
        yield from new[len(dated) :]
        self.added = new

    def _taken_up(self, said: list[Message]) -> int:
        """How many of these messages one of the conversations began with; it is the latest now, up to there.

        One that goes on otherwise is remembered beside it: a helper may have begun with the same words. What is asked
        again after something else was is said again, or its answer would stand behind another prompt."""
        hashes: list[bytes] = []
        counts = [_in_common(known.said, said, hashes) for known in self.told]
        common = max(counts)
        alike = [known for known, count in zip(self.told, counts, strict=True) if count == common]
        if common == len(said) and self.told[-1] not in alike:
            common -= 1
        ended = next((known for known in alike if len(known.said) == common), None)
        latest = _Conversation(hashes[:common], (ended or alike[-1]).asked)
        self.told = [*(known for known in self.told if known is not ended), latest][-_REMEMBERED:]
        return common

    def _dated(self, message: Message) -> Message:
        """A message with the time of its exchange, if it has none of its own."""
        fields = _fields(message)
        return self.at | fields if fields and not any(fields.get(name) for name in shapes.TIMES) else message

    def _answer(self, body: dict[str, Any]) -> Iterator[Message]:
        """An answer as messages, and a line of what it cost."""
        if not body:
            return
        if shapes.is_message(body):
            said, about = [body], {}
        else:
            chosen = [codec.mapping(choice.get("message")) for choice in _objects(body.get("choices"))]
            said = [message for message in chosen if message] or _objects(body.get("output"))
            left_out = ("choices", "output", "type") if said else ("type",)
            about = {name: other for name, other in body.items() if name not in left_out}
        yield from (self.at | message for message in said)
        self.added = [*self.added, *said]
        if about:
            yield {"type": "response", **about}


def _after_first(said: list[Message]) -> int:
    """Where the first message ends that somebody said: what the system is told stands before it."""
    roles = (_fields(message).get("role") for message in said)
    return next((at for at, role in enumerate(roles, 1) if role not in ("system", "developer")), len(said))


def _repeats(asked: dict[str, Any], answer: dict[str, Any]) -> bool:
    """Whether an answer that is nothing but words is the last message, too: some programs note it twice."""
    given = _messages(asked.get("messages")) if answer.keys() == {"role", "content"} else []
    return bool(given) and _hash(given[-1]) == _hash(answer)


def _in_common(known: list[bytes], said: list[Message], hashes: list[bytes]) -> int:
    """How many of these messages a conversation began with; `hashes` takes those of messages that were looked at."""
    for at, (was, message) in enumerate(zip(known, said, strict=False)):
        if at == len(hashes):
            hashes.append(_hash(message))
        if hashes[at] != was:
            return at
    return min(len(known), len(said))


def _hash(message: Message) -> bytes:
    return alike.digest(_fields(message) or {"content": message})


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
    told = 1 if name in sides.GIVEN else len(listed)
    return [*map(_plain, listed[:told]), *listed[told:]]


def _messages(value: Any) -> list[Message]:
    listed = cast("list[Any]", value) if isinstance(value, list) else []
    return [entry if isinstance(entry, msgspec.Raw) else codec.mapping(entry) for entry in listed]


def _objects(value: Any) -> list[dict[str, Any]]:
    return [codec.mapping(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else []
