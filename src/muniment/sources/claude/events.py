"""What stands around the conversation, as events and back: records of the system, and metadata of the session.

Most of it serves the program and is quiet; a few records tell a reader something. Many have a place in the chain of
records, and others hang on them: such a record is written again even if nothing but its place is left of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from muniment.model import Event, Ref
from muniment.model.codec import mapping
from muniment.sources.builder import quiet
from muniment.sources.claude.records import Line

SHOWN_SYSTEM = {"local_command", "away_summary", "informational", "bridge_status", "scheduled_task_fire"}
"""System records whose content a reader wants to see."""

BOUNDARY = "compaction boundary"
EARLIER_SUMMARY = "summary of an earlier session"
API_ERROR = "API error"
EMPTY = "empty message"
PUT_IN = "put in"
"""Says of images and files that the program put them into the conversation, and how their record is marked."""
INJECTED = {"isMeta": True}
SUMMARY = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
"""How the program marks its own records under the role `user`."""
QUEUED = {"queued": True}
"""Of words that no human sent: they came while the agent worked, and stand in an attachment."""
UNMARKED = {"marks": False}
"""Of a summary: its record was written before there were marks."""

GRANTS: dict[str, dict[str, list[str]]] = {"attachment command_permissions": {"allowedTools": []}}
"""Records that grant something, and what is written in place of it: others hang on them, so they stay, empty."""

# -- reading


def system(line: Line, ref: Ref) -> Event:
    """A record of the program itself."""
    kind = line.subtype or "system"
    text = line.content if isinstance(line.content, str) else ""
    if kind == "compact_boundary":
        detail = {"metadata": line.compaction, "logical_parent": line.logical_parent, "text": text}
        return quiet(BOUNDARY, ref, detail)
    if kind == "api_error":
        return Event(kind=API_ERROR, text=_error_text(line.error), ref=ref)
    if kind in SHOWN_SYSTEM and text:
        return Event(kind=kind.replace("_", " "), text=text, ref=ref)
    return quiet(f"system {kind.replace('_', ' ')}", ref)


def metadata(line: Line, ref: Ref) -> Event:
    """A record about the session, or one of an unknown type."""
    if line.type == "custom-title" and line.custom_title:
        return quiet("title", ref, {"title": line.custom_title, "by": "user"})
    if line.type == "ai-title" and line.ai_title:
        return quiet("title", ref, {"title": line.ai_title, "by": "ai"})
    if line.type == "agent-name" and line.agent_name:
        return quiet("agent-name", ref, line.agent_name)
    if line.type == "summary" and line.summary:
        return Event(kind=EARLIER_SUMMARY, text=line.summary, detail=line.leaf, ref=ref)
    if line.type == "last-prompt" and line.leaf:
        return quiet("last-prompt", ref, {"leaf": line.leaf, "explicit": bool(line.explicit)})
    if line.type == "queue-operation" and isinstance(line.content, str):
        return quiet("queue-operation", ref, {"operation": line.operation, "content": line.content})
    if line.type == "tag" and line.tag is not None:
        return quiet("tag", ref, line.tag)
    if line.type == "pr-link" and line.url:
        return quiet("pr-link", ref, line.url)
    return quiet(line.type, ref)


def instructions(event: Event) -> tuple[tuple[str, str], ...]:
    """A file of instructions that was put into the context, with its text as the model got it."""
    if event.kind != "attachment nested_memory":
        return ()
    detail = mapping(event.detail)
    content = detail.get("content")
    text = mapping(cast("Any", content)).get("content") if isinstance(content, dict) else content
    path = detail.get("path")
    return ((path, text),) if isinstance(path, str) and isinstance(text, str) else ()


def _error_text(error: Any) -> str:
    """The shortest true account of an API error."""
    if isinstance(error, dict):
        said = mapping(cast("Any", error))
        for name in ("message", "formatted", "error", "status", "type", "cause"):
            if found := said.get(name):
                return _error_text(found)
        return "connection error"
    return str(error or "unknown error")


# -- writing


class Again(NamedTuple):
    """What a record is made of."""

    role: str
    """What kind of record it is."""
    part: Any
    flags: dict[str, Any] = {}


def again(event: Event) -> Again | None:
    """The record that an event came from; None if it is left out."""
    if event.kind == EMPTY:
        return Again(str(event.detail), None)
    if event.kind.startswith("attachment "):
        granted = GRANTS.get(event.kind)
        return Again("attachment", mapping(event.detail) | granted if granted else event.detail)
    if event.kind == BOUNDARY:
        return Again("system", _boundary(mapping(event.detail)))
    if event.kind == "last-prompt" and event.detail:
        return Again("leaf", event.detail)
    if event.text:
        return _shown(event)
    return _stub(event.kind) if event.ref.id else None


def _shown(event: Event) -> Again:
    """An event with words: what a reader was shown, or what was injected into the conversation."""
    kind = event.kind.replace(" ", "_")
    if event.kind == EARLIER_SUMMARY:
        return Again("summary", {"summary": event.text, "leafUuid": event.detail})
    if event.kind == API_ERROR:
        return Again("system", {"subtype": "api_error", "error": {"message": event.text}})
    if kind in SHOWN_SYSTEM:
        return Again("system", {"subtype": kind, "content": event.text})
    if event.detail == QUEUED:
        return Again("attachment", {"type": "text", "text": event.text}, {"plain": event.ref.plain})
    marks = INJECTED if event.kind == "injected" else mapping(event.detail)  # where it says who sent it
    return Again("user", {"type": "text", "text": event.text}, {"plain": event.ref.plain, **marks})


def _boundary(detail: dict[str, Any]) -> dict[str, Any]:
    part = new_boundary() | ({"content": detail["text"]} if detail.get("text") else {})
    part |= {"compactMetadata": detail["metadata"]} if detail.get("metadata") else {}
    return part | {"logicalParentUuid": detail.get("logical_parent")}


def new_boundary() -> dict[str, Any]:
    """A cut: what came before it is out of the model's sight."""
    part: dict[str, Any] = {"subtype": "compact_boundary", "content": "Conversation compacted"}
    return part | {"compactMetadata": {"trigger": "manual", "preTokens": 0}, "logicalParentUuid": None}


def new_note(text: str) -> dict[str, Any]:
    """Something that a reader is shown and the model is not sent."""
    return {"subtype": "informational", "content": text}


def _stub(kind: str) -> Again | None:
    """A record that carries nothing but its place in the chain."""
    if kind == "progress":
        return Again("progress", {"data": {"type": "progress"}})
    if kind.startswith("system "):
        return Again("system", {"subtype": kind.removeprefix("system ").replace(" ", "_"), "content": ""})
    return None


def why_left_out(kind: str) -> str:
    """Why an event has no record in a written file, if there is a reason of its own."""
    if kind in GRANTS or kind == "permission-mode":
        return "permissions are never restored"
    if kind.startswith("file-history"):
        return "files can be rewound only after a restore, which brings their backups"
    return ""
