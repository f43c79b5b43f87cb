"""What `claude -p --output-format stream-json` prints: messages of the API, each in an envelope that names the session.

{"type":"system","subtype":"init","session_id":"…","cwd":"…","model":"…"}
{"type":"assistant","message":{"role":"assistant",…},"parent_tool_use_id":null,"session_id":"…"}
{"type":"result","subtype":"success","is_error":false,"result":"…","session_id":"…"}
"""

from __future__ import annotations

from typing import Any

from muniment.model import codec
from muniment.sources.messages import shapes

ENVELOPE = "envelope"
"""Where a message that was taken out of its envelope has the rest of that."""
_EVENTS = frozenset({"system", "init", "result", "stream_event", "rate_limit_event", "tool_progress", "auth_status"})


def is_line(value: dict[str, Any]) -> bool:
    """A message in its envelope, or an event."""
    return holds_message(value) or is_event(value)


def holds_message(value: dict[str, Any]) -> bool:
    """An envelope of the message of a person or of the model."""
    message, kind = codec.mapping(value.get("message")), value.get("type")
    named = isinstance(value.get("session_id"), str) and kind in ("user", "assistant")
    return named and message.get("role") == kind and shapes.is_message(message)


def is_event(value: dict[str, Any]) -> bool:
    """Something that is told of the session itself."""
    return isinstance(value.get("session_id"), str) and shapes.known(value.get("type"), _EVENTS)


def taken_out(value: dict[str, Any], met: set[str]) -> dict[str, Any]:
    """A message out of its envelope. One is spread over lines, and each repeats what it cost: the first one counts."""
    message = codec.mapping(value["message"])
    own = message.get("id")
    if isinstance(own, str) and own in met:
        message = {name: other for name, other in message.items() if name != "usage"}
    elif isinstance(own, str):
        met.add(own)
    at = {name: value[name] for name in shapes.TIMES if name in value}
    return at | message | {ENVELOPE: {name: other for name, other in value.items() if name not in ("message", "type")}}


def session_of(line: dict[str, Any]) -> str | None:
    """The session that a line names."""
    own = line if is_event(line) else codec.mapping(line.get(ENVELOPE))
    return own.get("session_id")


def helper_of(line: dict[str, Any]) -> str | None:
    """The call that began the subagent whose message this is, if it is one's."""
    call = codec.mapping(line.get(ENVELOPE)).get("parent_tool_use_id")
    return call if isinstance(call, str) else None
