"""Events around the conversation as blocks: most serve the program and are quiet, a few tell a reader something."""

from __future__ import annotations

from typing import Any

from muniment.model import Compaction, Event, Ref, codec
from muniment.sources.builder import quiet
from muniment.sources.copilot.records import Line, text

TOLD = {
    "session.error": "message",
    "session.warning": "message",
    "session.task_complete": "summary",
    "system.notification": "content",
    "abort": "reason",
}
"""Events that a reader should see, and the field that holds the words."""

_SILENT = frozenset({"hook.start", "hook.end", "tool.execution_start", "assistant.turn_start", "assistant.turn_end"})
"""What only the program needs: half of all events. Their content stays in the evidence."""

_SHORT = 200


def event(line: Line, ref: Ref) -> Event:
    """An event that has no place in the conversation."""
    if line.type in _SILENT:
        return quiet(named(line.type), ref)
    if line.type == "session.title_changed" and (title := text(line.data, "title")):
        return quiet("title", ref, {"title": title, "by": "ai"})
    words = text(line.data, TOLD[line.type]) if line.type in TOLD else None
    return Event(named(line.type), words or "", small(line.data), ref)


def named(kind: str) -> str:
    """The kind as words; never one of those that mean something for the facts of a session."""
    return kind.replace(".", " ").replace("_", " ") if "." in kind else f"event {kind}"


def small(data: dict[str, Any]) -> dict[str, Any] | None:
    """The short, plain fields of an event; its bulk stays in the evidence."""
    return {name: value for name, value in data.items() if _is_small(value)} or None


def _is_small(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) or (isinstance(value, str) and 0 < len(value) <= _SHORT)


def compaction(line: Line, ref: Ref) -> Compaction | Event:
    """The context was cut, unless that failed."""
    summary = text(line.data, "summaryContent")
    if summary is None and line.data.get("success") is False:
        return event(line, ref)
    detail = {name: value for name, value in line.data.items() if name != "summaryContent"}
    return Compaction(summary or "", detail or None, ref)


def settings(line: Line) -> dict[str, Any]:
    """Folder, branch and program, where an event tells them."""
    context = codec.mapping(line.data.get("context")) or line.data
    client = text(line.data, "copilotVersion")
    return {"cwd": text(context, "cwd"), "branch": text(context, "branch"), "client": client}
