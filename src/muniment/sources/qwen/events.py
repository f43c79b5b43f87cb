"""Records of the program as blocks: most serve the program and are quiet, a few tell a reader something."""

from __future__ import annotations

from typing import Any

from muniment.model import Compaction, Event, Ref
from muniment.model.codec import mapping
from muniment.sources.base import Hints
from muniment.sources.builder import quiet
from muniment.sources.gemini.prompts import words_of
from muniment.sources.gemini.records import listing, text
from muniment.sources.qwen.records import Line

WINDOW = "context window"

_BULKY = frozenset({"ui_telemetry", "attribution_snapshot", "file_history_snapshot"})
"""What only the program needs: half of all records. Their content stays in the evidence."""

_SHORT = 200


def event(line: Line, ref: Ref) -> Event | Compaction:
    """A record that has no place in the conversation."""
    kind = named(line)
    match line.subtype if line.type == "system" else None:
        case "chat_compression":
            return _compaction(line, ref)
        case "custom_title" if title := text(line.payload, "customTitle"):
            by = "ai" if line.payload.get("titleSource") == "auto" else "user"
            return quiet("title", ref, {"title": title, "by": by})
        case "rewind":
            words = "The conversation was taken back to before an earlier message."
            return Event(kind, words, small(line.payload), ref)
        case "slash_command" if line.payload.get("phase") == "invocation":
            return Event(kind, text(line.payload, "rawCommand") or "", ref=ref)
        case "ui_telemetry":
            return Event(kind, _failure(mapping(line.payload.get("uiEvent"))), ref=ref)
        case _:
            return quiet(kind, ref, None if line.subtype in _BULKY else small(line.payload))


def injected(line: Line, ref: Ref) -> Event:
    """What the program told the model in the user's name: that a task ended, that it is time for another."""
    return Event(named(line), words_of(line.parts), small(line.payload), ref)


def named(line: Line) -> str:
    """The kind as words; never one of those that mean something for the facts of a session."""
    return f"{line.type} {line.subtype or 'record'}".replace("_", " ")


def small(payload: dict[str, Any]) -> dict[str, Any] | None:
    """The short, plain fields of a record; its bulk stays in the evidence."""
    return {name: value for name, value in payload.items() if _is_small(value)} or None


def _is_small(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) or (isinstance(value, str) and 0 < len(value) <= _SHORT)


def _failure(told: dict[str, Any]) -> str:
    """What went wrong with a request to the model, if that is what the program noted."""
    failed = (text(told, "event.name") or "").endswith(".api_error")
    return (text(told, "error_message") or text(told, "error") or "") if failed else ""


def _compaction(line: Line, ref: Ref) -> Compaction:
    """The history was replaced by a shorter one, which begins with a summary."""
    return Compaction(summary_of(line.payload), small(mapping(line.payload.get("info"))), ref)


def summary_of(payload: dict[str, Any]) -> str:
    """The first message of the shorter history."""
    first = next(iter(listing(payload.get("compressedHistory"))), None)
    return words_of(mapping(first).get("parts"))


def hints(event: Event) -> Hints:
    """How much fits into the context, as answers tell it."""
    known = event.kind == WINDOW and isinstance(event.detail, int)
    return Hints(window=event.detail) if known else Hints()
