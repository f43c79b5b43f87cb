"""What in a user message is a person's words, and what the program put there."""

from __future__ import annotations

import re
from typing import Any

from muniment.model.codec import mapping
from muniment.sources.gemini.records import parts_of, text

CONTEXT = "session context"
COMMAND = "command"
SUMMARY = "summary"
EDITOR = "editor context"
_TAGS = {
    "<session_context>": CONTEXT,
    "This is the Gemini CLI. We are setting up the context for our chat.": CONTEXT,
    "<hook_context>": "hook context",
    "<state_snapshot>": SUMMARY,
    "Here is the user's editor context": EDITOR,
    "Here is a summary of changes in the user's editor context": EDITOR,
}
_NUDGE = "System: Please continue."
_COMMAND = re.compile(r"(?:/[a-z][\w:-]*|\?)(?:\s.*)?", re.DOTALL)
_REFERENCED = "\n--- Content from referenced files ---"
_FOLDER = re.compile(r"(?:working in the directory:|\*\*Workspace Directories:\*\*\n\s*-) *([^\n]+)")
_ABSOLUTE = re.compile(r"\s*(?:/|[A-Za-z]:[\\/]|\\\\)")


def words_of(content: Any) -> str:
    """The text of a message."""
    return "".join(text(mapping(part), "text") or "" for part in parts_of(content))


def injected_kind(content: Any) -> str | None:
    """What a user message is that no person wrote, or that was never sent to the model; None for a prompt."""
    words = words_of(content).strip()
    tag = next((kind for tag, kind in _TAGS.items() if words.startswith(tag)), None)
    if tag:
        return tag
    if words == _NUDGE:
        return "continued"
    return COMMAND if _COMMAND.fullmatch(words) else None


def begins_files(part: Any) -> bool:
    """Behind this part stand the files that the person named with `@`."""
    return (text(mapping(part), "text") or "").startswith(_REFERENCED)


def folder_in(words: str) -> str | None:
    """The working folder, as the program tells it to the model."""
    found = _FOLDER.search(words)
    return found[1].strip() if found and _ABSOLUTE.match(found[1]) else None
