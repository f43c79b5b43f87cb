"""The lines of a Codex rollout, whatever their era, as one shape.

    {"timestamp":"2026-01-02T03:04:05.000Z","type":"response_item","payload":{"type":"message","role":"user",…}}

Since autumn 2025 every line has this envelope. Before, the items stood bare on their lines after a first line
`{id, timestamp, instructions}`; they get the envelope here, so that the reader knows one era only.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec
from msgspec import Struct

from muniment.model import codec

ENVELOPES = frozenset(
    [
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "security_risk_score",
        "token_usage_record",
    ]
)
"""Types of records that have an envelope."""


BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Line(Struct, gc=False):
    """One record."""

    type: str
    payload: dict[str, Any]
    timestamp: str | None = None
    ordinal: int | None = None

    @property
    def kind(self) -> str:
        """The payload's own type, else the record's."""
        kind = self.payload.get("type")
        return kind if isinstance(kind, str) else self.type


_decoder = msgspec.json.Decoder(Line)


def decode(raw: bytes) -> Line:
    """The record of one line. Raises ValueError with what is wrong with it."""
    try:
        return _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_loosely(raw)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _decode_loosely(raw: bytes) -> Line:
    """A line that the strict decoder refuses: a bare item, odd JSON, or one that an editor put a mark before."""
    try:
        value = codec.loads(raw.removeprefix(BYTE_ORDER_MARK))
    except ValueError as error:
        raise ValueError(_what_is_wrong(raw, error)) from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return _enveloped(cast("dict[str, Any]", value))


def _enveloped(value: dict[str, Any]) -> Line:
    """A record whatever its era; a time or a number of another type than usual is left out."""
    kind = text(value, "type")
    if "payload" in value or kind in ENVELOPES:
        payload = value.get("payload", {})
        if kind is None or not isinstance(payload, dict):
            raise ValueError("not a record of a known shape: it has no " + ("type" if kind is None else "payload"))
        ordinal = value.get("ordinal")
        return Line(
            kind,
            codec.mapping(cast("Any", payload)),
            text(value, "timestamp"),
            ordinal if type(ordinal) is int else None,
        )
    if kind:
        return Line("response_item", value)
    if isinstance(value.get("role"), str):
        return Line("response_item", value | {"type": "message"})
    if isinstance(kind := value.get("record_type"), str):
        return Line(kind, value)
    if isinstance(value.get("id"), str) and "timestamp" in value:
        return Line("session_meta", value, text(value, "timestamp"))
    raise ValueError("not a record of a known shape: it has no type")


def _what_is_wrong(raw: bytes, error: ValueError) -> str:
    if not raw.strip(b"\0"):
        return f"{len(raw)} NUL bytes"
    return f"not JSON: {error}"


def text(payload: dict[str, Any], name: str) -> str | None:
    """A field that is a string, else None: any field of a foreign file may hold anything."""
    value = payload.get(name)
    return value if isinstance(value, str) else None


def mapping(payload: dict[str, Any], name: str) -> dict[str, Any]:
    """A field that is an object, else an empty one."""
    return codec.mapping(payload.get(name))


def listing(payload: dict[str, Any], name: str) -> list[Any]:
    """A field that is an array, else an empty one."""
    value = payload.get(name)
    return cast("list[Any]", value) if isinstance(value, list) else []
