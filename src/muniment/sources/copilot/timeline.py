"""Sessions of the first weeks, until 0.0.342 of October 2025: one JSON document each, written anew as it grew.

    {"sessionId":"…","startTime":"…","chatMessages":[{"role":"user","content":"hello"},…],"timeline":[
    {"id":"…","timestamp":"…","type":"user","text":"hello","expandedText":"hello","mentions":[],"imageAttachments":[]}
    {"id":"…","timestamp":"…","type":"copilot","text":"Looking."}
    {"type":"tool_call_completed","id":"…","timestamp":"…","callId":"…","name":"bash","toolTitle":"bash",
     "intentionSummary":"…","arguments":{…},"result":{"type":"success","log":"…"}}
    {"id":"…","timestamp":"…","type":"info","text":"Connected to GitHub MCP Server"}
    ]}

So they were seen in two documents that somebody committed, and `tool_call_requested`, which a completed call takes the
place of, in a description of a third. The timeline is what the person saw, with its times; the messages are what the
model was sent, reminders and all. They say the same, so they are read only where the timeline is empty. Entries become
the events of today.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from typing import Any

from muniment.model import codec
from muniment.sources import documents, raw_json
from muniment.sources.chats import beginning
from muniment.sources.copilot.records import Line, listing, text

TIMELINE, MESSAGES = "timeline", "chatMessages"
CALL = "timeline.call"
"""A call, with its result if it has one."""

_FILLED = re.compile(rb'"timeline"\s*:\s*\[\s*\{')
_CANCELLED = "Operation cancelled by user"
_TOLD = {"info": "session.info", "warning": "session.warning", "error": "session.error"}


def document_id(head: bytes) -> str | None:
    """The id of the session that a file is, if one that begins so is such a document."""
    alone = raw_json.unmarked(head).lstrip()
    if not alone.startswith(b"{") or b'"startTime"' not in alone:
        return None
    told = raw_json.fields(alone)
    return told.get("sessionId") if "startTime" in told and told.keys() & {TIMELINE, MESSAGES} else None


def lines(pieces: Iterable[bytes]) -> Iterable[bytes]:
    """A document as lines; a file that is lines already comes as it is."""
    begun, rest = beginning(pieces)
    if document_id(begun) is None:
        return chain([begun], rest)
    alone = raw_json.unmarked(begun).strip()
    silent = not _FILLED.search(alone) and raw_json.extent(alone) == "whole"
    return documents.lines(chain([begun], rest), MESSAGES if silent else TIMELINE)


def decode(raw: bytes) -> Line:
    """A line of a document as an event. Raises ValueError."""
    part = documents.decode(raw)
    fields = part.value
    if part.kind != "entry":
        known = {name: value for name, value in fields.items() if name != MESSAGES}
        kind = "session.start" if part.kind == "head" else "timeline.end"
        return Line(kind, known, timestamp=text(fields, "startTime"))
    if isinstance(fields.get("role"), str):
        return Line(*_sent(fields))
    if not isinstance(fields.get("type"), str):
        raise ValueError("not a record of a known shape: it has no type")
    return Line(*_shown(fields), text(fields, "id"), text(fields, "timestamp"))


def _shown(entry: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """An entry of the timeline as an event: its kind and what it says."""
    kind, words = entry["type"], text(entry, "text")
    if kind == "user" and words is not None:
        return "user.message", {"content": words, "attachments": listing(entry, "imageAttachments")}
    if kind == "copilot" and words is not None:
        return "assistant.message", {"content": words}
    if kind in ("tool_call_requested", "tool_call_completed"):
        call = {"toolCallId": entry.get("callId"), "toolName": entry.get("name"), "arguments": entry.get("arguments")}
        return CALL, call | (_result(entry) if kind == "tool_call_completed" else {})
    if words == _CANCELLED:
        return "abort", {"reason": words}
    if kind in _TOLD:
        return _TOLD[kind], {"message": words}
    return f"timeline.{kind}", {name: value for name, value in entry.items() if name not in ("id", "timestamp")}


def _result(entry: dict[str, Any]) -> dict[str, Any]:
    """What a call gave back, as an event tells it; what it is in no known way is a part that nobody knows."""
    result = codec.mapping(entry.get("result"))
    known, words = result.get("type"), text(result, "log")
    told = {"success": known == "success"} if isinstance(known, str) else {}
    if words is None:
        return told | {"result": {"contents": [{"type": "result", "value": entry.get("result")}]}}
    return told | {"result": {"content": words}}


def _sent(message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A message to or from the model as an event."""
    role, words = message["role"], text(message, "content")
    if role == "user":
        return "user.message", {"content": words}
    if role == "assistant":
        asked = [_asked(call) for call in listing(message, "tool_calls")]
        return "assistant.message", {"content": words, "toolRequests": asked}
    if role == "tool":
        return "tool.execution_complete", {"toolCallId": message.get("tool_call_id"), "result": {"content": words}}
    return "system.message", message


def _asked(call: dict[str, Any]) -> dict[str, Any]:
    function = codec.mapping(call.get("function"))
    return {"toolCallId": call.get("id"), "name": function.get("name"), "arguments": _parsed(function.get("arguments"))}


def _parsed(given: Any) -> Any:
    """Arguments as an object; what is none stays as it is."""
    try:
        value = codec.loads(given.encode()) if isinstance(given, str) else given
    except ValueError:
        return given
    return codec.mapping(value) if isinstance(value, dict) else given
