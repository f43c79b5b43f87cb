"""Events to entries: the reverse of `told`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from msgspec import structs

from muniment.errors import Unsupported
from muniment.model import codec
from muniment.model import events as types
from muniment.model.codec import mapping
from muniment.model.events import Event
from muniment.sources.agent.entries import VERSION, milliseconds
from muniment.sources.base import made_id
from muniment.sources.builder import count

_ID = re.compile(r"[0-9a-f]{8}")
_PART = re.compile(r"[0-9a-f]{8}\.\d+")
_NO_ENTRY = frozenset({types.CHECKPOINT, types.SIDECHAIN, types.RECOVERY, types.TERMINATOR})
"""Events around the conversation that the format has no entry for."""
_ORDER = ("model", "provider", "usage", "stop_reason", "details", "is_error")
"""Fields of a message behind its content, as the format has them; the time comes last."""
_IN_PLACE = {"text", "content", "timestamp", "message", "id", "name", "input", "output", "signature", "redacted"}
"""What an event says that has its own place in a message, or none."""


def entries(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The entries that hold these events. Raises Unsupported for one that must not be dropped and has none."""
    spoken = [event for event in events if event.type in types.ANSWERS]
    if spoken and len(spoken) == len(events):
        return [_answer(spoken)]
    if any(event.type == types.COMPACTION for event in events):
        return [_compaction(events)]
    return [entry for event in events if (entry := _single(event))]


def _single(event: Event) -> dict[str, Any] | None:
    payload = mapping(event.payload)
    match event.type:
        case types.HEADER:
            at = payload.get("start_ts") or event.ts
            known = {"type": "session", "id": payload["session_id"], "version": VERSION, "timestamp": at}
            return known | {"cwd": payload.get("cwd") or ""}
        case types.USER | types.SUMMARY:  # a summary by itself is what the format makes of one: a prompt
            return _entry(event, event, _message("user", event, _content(payload)))
        case types.TOOL_RESULT:
            return _entry(event, event, _result(event))
        case types.BRANCH:
            return _branch(event)
        case _ if event.type in _NO_ENTRY:
            return None
        case _:
            raise Unsupported(f"the format `agent` has no entry for {event.type!r}", "record it in `native`")


def _about(type_: str, first: Event, last: Event) -> dict[str, Any]:
    """The beginning of an entry. The header is no entry: what follows it has no parent."""
    parent = _short(first.prev_uuid or "")
    id_ = _short(last.uuid) or last.uuid
    return {"type": type_, "id": id_} | ({"parent_id": parent} if parent else {}) | {"timestamp": first.ts}


def _short(id_: str) -> str | None:
    """An id of eight digits; a part of a message that becomes an entry of its own gets one made from both."""
    if _PART.fullmatch(id_):
        return made_id(id_).hex[:8]
    return id_ if _ID.fullmatch(id_) else None


def _entry(first: Event, last: Event, message: dict[str, Any]) -> dict[str, Any]:
    return _about("message", first, last) | {"role": message["role"], "message": message}


def _answer(events: Sequence[Event]) -> dict[str, Any]:
    parts = [part for event in events for part in _parts(event)]
    message = _message("assistant", events[0], parts)
    for event in events[1:]:
        message |= _more(mapping(event.payload), message)
    return _entry(events[0], events[-1], message | {"timestamp": message.pop("timestamp")})


def _parts(event: Event) -> list[Any]:
    payload = mapping(event.payload)
    if event.type == types.THINKING:
        more = {name: payload[name] for name in ("signature", "redacted") if payload.get(name)}
        return [{"type": "thinking", "thinking": payload.get("text", "")} | more]
    if event.type == types.TOOL_CALL:
        call = {"type": "tool_call", "id": payload.get("id"), "name": payload.get("name")}
        return [call | {"arguments": payload.get("input")}]
    return _content(payload)


def _content(payload: dict[str, Any]) -> list[Any]:
    text = payload.get("text")
    return [{"type": "text", "text": text}] if isinstance(text, str) else list(payload.get("content") or ())


def _message(role: str, event: Event, content: list[Any], **named: Any) -> dict[str, Any]:
    payload = mapping(event.payload)
    message: dict[str, Any] = {"role": role, **named, "content": content}
    message |= _more(payload, message)
    return message | {"timestamp": payload.get("timestamp", milliseconds(event.ts))}


def _more(payload: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """What else an event says: the format's own fields in their order, then any other."""
    others = [name for name in payload if name not in _ORDER and name not in _IN_PLACE]
    said = {name: payload[name] for name in (*_ORDER, *others) if name in payload and name not in known}
    return said | ({"usage": _with_total(said["usage"])} if "usage" in said else {})


def _with_total(usage: Any) -> Any:
    """Tokens and their total, where only the parts are told; cached ones are part of the input if they fit into it."""
    said = mapping(usage)
    if "total_tokens" in said or not said.keys() & {"input", "output"}:
        return usage
    given, cached = count(said, "input"), count(said, "cache_read") + count(said, "cache_write")
    return said | {"total_tokens": (given if cached <= given else given + cached) + count(said, "output")}


def _result(event: Event) -> dict[str, Any]:
    payload = mapping(event.payload)
    output = payload.get("output")
    parts = cast("list[Any]", output) if isinstance(output, list) else [_text_of(output)] if output is not None else []
    parts = [part if isinstance(mapping(part).get("type"), str) else _text_of(part) for part in parts]
    said = {"is_error": bool(payload.get("is_error"))}
    made = structs.replace(event, payload=payload | said)
    return _message("tool_result", made, parts, tool_call_id=payload.get("id"), tool_name=payload.get("name"))


def _text_of(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value if isinstance(value, str) else codec.encode(value).decode()}


def _compaction(events: Sequence[Event]) -> dict[str, Any]:
    """A summary and its boundary are one entry; without a first kept entry nothing before it is kept."""
    cut = next(event for event in events if event.type == types.COMPACTION)
    summary = next((mapping(event.payload).get("text") for event in events if event.type == types.SUMMARY), None)
    if not isinstance(summary, str) or len(events) != 2:
        raise ValueError("a compaction is a summary and its boundary, given together and alone")
    said = mapping(cut.payload)
    first = str(said.get("first_kept") or cut.uuid).partition(".")[0]
    kept = {"first_kept_entry_id": first, "tokens_before": said.get("tokens_before") or 0}
    return _about("compaction", events[0], cut) | {"summary": summary} | kept


def _branch(event: Event) -> dict[str, Any]:
    said = mapping(event.payload)
    made = {"type": "branch", "id": event.uuid, "timestamp": event.ts}
    made |= {"parent_session_path": said.get("parent_path") or "", "fork_entry_id": said.get("fork_uuid") or ""}
    return made | ({"branch_summary": said["summary"]} if said.get("summary") else {})
