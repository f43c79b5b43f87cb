"""What a line says as an event: of the decision record's form, and of the program's own."""

from __future__ import annotations

from typing import Any

from muniment.model import events as types
from muniment.model.codec import mapping
from muniment.model.events import Event, told_time
from muniment.sources.recorded.parts import fields_shown

SPOKEN = "spoken"
"""Marks reasoning that was in truth said: the format has no event for the agent's words."""


def event(line: dict[str, Any]) -> Event:
    """The event that a line tells. Raises ValueError if it is none."""
    if isinstance(kind := line.get("type"), str):
        return _specified(kind, line)
    if isinstance(kind := line.get("kind"), str):
        return _programs(kind, line)
    raise ValueError("not an event: it has neither type nor kind")


def _specified(kind: str, line: dict[str, Any]) -> Event:
    rest = _without(line, "type", "timestamp")
    match kind:
        case "session_start":
            return _made(types.HEADER, line, _header(rest), "started_at")
        case "photographer_message":
            return _made(types.USER, line, rest)
        case "agent_thinking":
            type_ = types.ASSISTANT if rest.pop(SPOKEN, None) is True else types.THINKING
            return _made(type_, line, rest)
        case "agent_tool_call":
            return _made(types.TOOL_CALL, line, _renamed(rest, call_id="id", tool="name", parameters="input"))
        case "tool_result":
            said = _renamed(rest, call_id="id", tool="name", result="output")
            return _made(types.TOOL_RESULT, line, said)
        case "session_end":
            return _made(types.TERMINATOR, line, {"end_ts": line.get("timestamp")} | rest)
        case _:
            return _made(kind, line, rest)


def _programs(kind: str, line: dict[str, Any]) -> Event:
    rest = _without(line, "kind", "timestamp")
    match kind:
        case "header":
            return _made(types.HEADER, line, _header(rest), "started_at")
        case "tool_call":
            return _made(types.TOOL_CALL, line, _renamed(rest, tool="name", args="input"))
        case "tool_result":
            said = {"output": None} | _renamed(rest, tool="name", error_code="output")
            failed = {"is_error": not rest["success"]} if isinstance(rest.get("success"), bool) else {}
            return _made(types.TOOL_RESULT, line, said | failed)
        case "footer":
            statistics = _without(rest, "ended_at")
            said = {"end_ts": rest.get("ended_at"), "statistics": statistics}
            return _made(types.TERMINATOR, line, said, "ended_at")
        case _:
            return _made(kind, line, rest)


def _header(rest: dict[str, Any]) -> dict[str, Any]:
    said = _renamed(rest, started_at="start_ts")
    provider = said.get("agent_provider")
    return said | ({"model": provider} if isinstance(provider, str) else {})


def _made(type_: str, line: dict[str, Any], payload: dict[str, Any], time: str = "timestamp") -> Event:
    return Event(type_, told_time(line.get(time)), "", None, payload)


def _without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    rest = fields.copy()
    for name in names:
        rest.pop(name, None)
    return rest


def _renamed(fields: dict[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in fields.items()}


def words(event: Event) -> str:
    """What a reader wants to see of an event of the format's own: all of it; of the end, what is more than counts."""
    ended = event.type == types.TERMINATOR
    return fields_shown(_without(mapping(event.payload), *(_COUNTS if ended else ())))


_COUNTS = ("end_ts", "status", "statistics")
