"""The lines of a Copilot session: events that name the one before them.

    {"type":"user.message","data":{"content":"hello"},"id":"…","timestamp":"2026-07-01T10:00:00.000Z","parentId":"…"}

Events of a subagent stand among the others and carry the id of the call that started it. What sessions were before
there were events is told in `timeline`.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec
from msgspec import Struct

from muniment.model import codec


class Line(Struct, gc=False, rename="camel"):
    """One event."""

    type: str
    data: dict[str, Any] = {}
    id: str | None = None
    timestamp: str | None = None
    parent_id: str | None = None
    agent_id: str | None = None


_decoder = msgspec.json.Decoder(Line)


def decode(raw: bytes) -> Line:
    """The event of one line. Raises ValueError with what is wrong with it."""
    try:
        return _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_loosely(raw)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _decode_loosely(raw: bytes) -> Line:
    """A line that the strict decoder refuses; fields of an unexpected kind are left out, the event is not."""
    try:
        value = codec.loads(raw)
    except ValueError as error:
        raise ValueError(_what_is_wrong(raw, error)) from None
    fields = codec.mapping(value)
    if not isinstance(fields.get("type"), str):
        raise ValueError("not a record of a known shape: it has no type")
    names = ("id", "timestamp", "parentId", "agentId")
    return Line(fields["type"], codec.mapping(fields.get("data")), *(text(fields, name) for name in names))


def _what_is_wrong(raw: bytes, error: ValueError) -> str:
    if not raw.strip(b"\0"):
        return f"{len(raw)} NUL bytes"
    return f"not JSON: {error}"


def text(data: dict[str, Any], name: str) -> str | None:
    """A field that is a string, else None: any field of a foreign file may hold anything."""
    value = data.get(name)
    return value if isinstance(value, str) else None


def listing(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a field that is an array."""
    value = data.get(name)
    entries = cast("list[Any]", value) if isinstance(value, list) else []
    return [codec.mapping(entry) for entry in entries]


def source_of(line: Line) -> str | None:
    """Who put a user message there, if no human did."""
    said = text(line.data, "source")
    return said if said not in (None, "", "user") else None


def subagent_of(line: Line) -> str | None:
    """The call whose subagent an event belongs to."""
    return text(line.data, "parentToolCallId") or line.agent_id
