"""Events and settings to blocks: what happened around the conversation.

Most of them repeat an item or serve the program; they are quiet. A few tell a reader something that no item says.
"""

from __future__ import annotations

import re
from typing import Any

from muniment.model import Compaction, Event, Ref, codec
from muniment.sources.base import Hints
from muniment.sources.builder import quiet
from muniment.sources.codex import forks
from muniment.sources.codex.records import Line, mapping, text

_RESERVED = frozenset({"title", "link", "agent-name", "running-total"})
"""Kinds with a meaning for the facts of a session; a file's own events of that name must not claim it."""

_REPEATING = frozenset(
    [
        "token_count",
        "user_message",
        "agent_message",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "context_compacted",
        "token_usage_record",
        "world_state",
    ]
)
"""What an item or a message's usage says already."""

_LARGE = frozenset({"base_instructions", "instructions", "dynamic_tools"})
_TURN = ("turn_id", "model", "effort", "personality")
"""Of a turn's settings; what was allowed in it stays in the evidence."""

TOLD = {
    "error": "message",
    "stream_error": "message",
    "warning": "message",
    "turn_aborted": "reason",
    "entered_review_mode": "user_facing_hint",
    "inter_agent_communication": "content",
}
"""Events that a reader should see, and the field that holds the words."""

ENDED = frozenset({"task_complete", "turn_complete"})
"""How a turn ends that was not broken off; it may have failed."""

STARTING = frozenset({"collab_agent_spawn_end", "sub_agent_activity", "item_completed"})
"""Events that may tell that a call has started a session of its own."""
_STARTED = {
    "collab_agent_spawn_end": ("call_id", "new_thread_id"),
    "SubAgentActivity": ("id", "agent_thread_id"),
    "sub_agent_activity": ("event_id", "agent_thread_id"),
}
"""By what tells it: the fields with the call and the session."""

_SHORT = 200
_INSTRUCTED = re.compile(r"\A\s*(?:# (\S+\.md) instructions for ([^\n]+)\n)?\s*(?:<(\w+)>\n?(.*?)\n?</\3>)?", re.DOTALL)
"""The head of injected instructions, with the folder they are for, and the tag around them."""


def event(line: Line, ref: Ref) -> Event:
    """An event or a record of a kind that has no place in the conversation."""
    kind, payload = line.kind, line.payload
    if kind in _REPEATING:
        return quiet(named(kind), ref)
    if kind == "item_completed":
        item = mapping(payload, "item")
        return quiet(f"item {item.get('type')}", ref, small(item))
    if kind == "thread_name_updated" and (title := text(payload, "thread_name")):
        return quiet("title", ref, {"title": title, "by": "user"})
    failed = {"error": payload["error"]} if kind in ENDED and mapping(payload, "error") else {}
    return Event(named(kind), _told(kind, payload), (small(payload) or {}) | failed or None, ref)


def started(line: Line) -> tuple[str, str] | None:
    """The call that started a subagent's session, and that session, if an event tells of one.

    Later clients tell it by an activity of the subagent, which has the id of the call."""
    told = mapping(line.payload, "item") if line.kind == "item_completed" else line.payload
    names = _STARTED.get(text(told, "type") or "")
    if names is None or told.get("kind", "started") != "started":
        return None
    call, thread = (text(told, name) for name in names)
    return (call, thread) if call and thread else None


def _told(kind: str, payload: dict[str, Any]) -> str:
    """What a reader should see of an event."""
    if kind in TOLD:
        return text(payload, TOLD[kind]) or ""
    if kind in ENDED:
        return text(mapping(payload, "error"), "message") or ""
    if kind == "thread_rolled_back":
        return f"{payload.get('num_turns')} turns were taken back"
    if kind == "exited_review_mode":
        return text(mapping(payload, "review_output"), "overall_explanation") or ""
    return ""


def again(event: Event) -> dict[str, Any] | None:
    """The payload that gives a shown event again; None if it is of no kind that is told."""
    kind, detail = event.kind.replace(" ", "_"), codec.mapping(event.detail)
    if item := codec.mapping(detail.get("item")):
        return item
    if kind in TOLD:
        return {"type": kind} | detail | {TOLD[kind]: event.text}
    if kind == "thread_rolled_back" or kind in ENDED:
        return {"type": kind} | detail
    if kind == "exited_review_mode":
        return {"type": kind, "review_output": {"overall_explanation": event.text}}
    return None


def named(kind: str) -> str:
    """The kind as words."""
    return f"event {kind}" if kind in _RESERVED else kind.replace("_", " ")


def small(payload: dict[str, Any]) -> dict[str, Any] | None:
    """The short, plain fields of an event; its bulk stays in the evidence."""
    kept = {name: value for name, value in payload.items() if name != "type" and _is_small(value)}
    return kept or None


def _is_small(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) or (isinstance(value, str) and 0 < len(value) <= _SHORT)


def meta(line: Line, ref: Ref) -> Event:
    """The head of a rollout, without the instructions and tools that it repeats."""
    kept = {name: value for name, value in line.payload.items() if name not in _LARGE and value is not None}
    return quiet("session meta", ref, kept)


def turn_context(line: Line, ref: Ref) -> Event:
    """The settings of a turn."""
    return quiet("turn context", ref, {n: v for n in _TURN if isinstance(v := line.payload.get(n), str)} or None)


def compaction(line: Line, ref: Ref) -> Compaction:
    """The context was cut: by a record with the new history, or by an item that only the provider can read."""
    payload = dict(line.payload)
    if line.type == "response_item":
        return Compaction(detail={"item": payload}, ref=ref)
    message = text(payload, "message") or ""
    return Compaction(message, {n: v for n, v in payload.items() if n != "message"} or None, ref)


def hints(event: Event) -> Hints:
    """Window, commit, beginning and project instructions, where an event tells them."""
    detail = codec.mapping(event.detail)
    if event.kind == "task started" and isinstance(window := detail.get("model_context_window"), int):
        return Hints(window=window)
    if event.kind == "session meta":
        return Hints(commit=text(mapping(detail, "git"), "commit_hash"), start=forks.start(detail))
    if event.kind == "project instructions" and isinstance(event.detail, str):
        return Hints(instructions=(_instructions(event.detail),))
    return Hints()


def _instructions(words: str) -> tuple[str, str]:
    """The files of all levels came joined in one text, so the name is that of the folder they are for."""
    found = _INSTRUCTED.match(words)
    name, folder, _, inner = found.groups() if found else (None,) * 4
    path = f"{folder.strip()}/{name}" if name and folder else "AGENTS.md"
    return path, words if inner is None else inner
