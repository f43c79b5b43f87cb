"""Entries to events: what each of them says."""

from __future__ import annotations

from typing import Any, cast

from muniment.model import events as types
from muniment.model.codec import mapping
from muniment.model.events import Event, told_time

_NAMED = {"role", "content", "tool_call_id", "tool_name"}
"""Fields of a message that an event has by other names."""


def events(entry: dict[str, Any]) -> list[Event]:
    """The events of an entry. Raises ValueError if it is none."""
    kind = entry.get("type")
    if not isinstance(kind, str):
        raise ValueError("not an entry: it has no type")
    if kind == "session":
        return [_header(entry)]
    if kind == "message" and isinstance(entry.get("message"), dict):
        return _message(entry)
    if kind == "compaction":
        return _compaction(entry)
    if kind == "branch":
        return [_branch(entry)]
    return [_event(kind, entry, _without(entry, "type", "id", "parent_id", "timestamp"))]


def _without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    rest = fields.copy()
    for name in names:
        rest.pop(name, None)
    return rest


def _event(type_: str, entry: dict[str, Any], payload: Any, part: str = "", follows: str | None = None) -> Event:
    id_ = str(entry.get("id") or "")
    parent = follows or entry.get("parent_id")
    known = parent if isinstance(parent, str) and parent else None
    return Event(type_, told_time(entry.get("timestamp")), f"{id_}{part}" if id_ else "", known, payload)


def _header(entry: dict[str, Any]) -> Event:
    named = {"session_id": entry.get("id"), "start_ts": entry.get("timestamp"), "resumed_from": None}
    return _event(types.HEADER, entry, named | _without(entry, "type", "id", "timestamp"))


def _message(entry: dict[str, Any]) -> list[Event]:
    message = mapping(entry["message"])
    role = message.get("role") or entry.get("role")
    rest = _without(message, *_NAMED)
    content = message.get("content")
    if role == "user":
        return [_event(types.USER, entry, _said(content) | rest)]
    if role == "tool_result":
        named = {"id": message.get("tool_call_id"), "name": message.get("tool_name")}
        return [_event(types.TOOL_RESULT, entry, named | {"output": _output(content)} | rest)]
    if role == "assistant":
        return _answer(entry, content, rest)
    return [_event(f"message {role}", entry, message)]


def _answer(entry: dict[str, Any], content: Any, rest: dict[str, Any]) -> list[Event]:
    """One event for each part; the last has the entry's id, the first says what belongs to them all."""
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    if not parts:
        return [_event(types.ASSISTANT, entry, _said(content) | rest)]
    made: list[Event] = []
    for number, part in enumerate(parts):
        type_, payload = _part(part)
        payload |= {} if made else rest
        ending = f".{number}" if number < len(parts) - 1 else ""
        made.append(_event(type_, entry, payload, ending, made[-1].uuid if made else None))
    return made


def _part(part: Any) -> tuple[str, dict[str, Any]]:
    fields = mapping(part)
    kind, thought = fields.get("type"), fields.get("thinking")
    if kind == "thinking" and isinstance(thought, str):
        return types.THINKING, {"text": thought} | _without(fields, "type", "thinking")
    if kind == "tool_call":
        rest = _without(fields, "type")
        said = types.call_said(rest)
        return types.TOOL_CALL, _without(rest, "arguments") | {"id": said.id, "name": said.name, "input": said.value}
    return types.ASSISTANT, _said([part])


def _said(content: Any) -> dict[str, Any]:
    """A single text by itself, anything else as the list of parts that it is."""
    if isinstance(content, str):
        return {"text": content}
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    only = mapping(parts[0]) if len(parts) == 1 else {}
    if only.keys() == {"type", "text"} and only["type"] == "text" and isinstance(only["text"], str):
        return {"text": only["text"]}
    return {"content": parts}


def _output(content: Any) -> Any:
    said = _said(content)
    return said["text"] if "text" in said else said["content"]


def _compaction(entry: dict[str, Any]) -> list[Event]:
    id_ = str(entry.get("id") or "")
    summary = _event(types.SUMMARY, entry, {"text": entry.get("summary")}, ".0")
    rest = _without(entry, "type", "id", "parent_id", "timestamp", "summary", "first_kept_entry_id")
    said = {"summary_event_uuid": f"{id_}.0", "first_kept": entry.get("first_kept_entry_id")}
    return [summary, _event(types.COMPACTION, entry, said | rest, "", summary.uuid)]


def _branch(entry: dict[str, Any]) -> Event:
    named = {"parent_path": entry.get("parent_session_path"), "fork_uuid": entry.get("fork_entry_id")}
    rest = _without(entry, "type", "id", "timestamp", "parent_session_path", "fork_entry_id", "branch_summary")
    return _event(types.BRANCH, entry, named | {"summary": entry.get("branch_summary")} | rest)
