"""Telling what a human typed from what the program put into a user message.

The event `user_message` is the authority. These openings serve files without such events, and name what was
injected. They follow real files of versions 0.34 to 0.166.
"""

from __future__ import annotations

import re
from typing import Any, cast

from muniment.sources.codex.records import listing

ENVIRONMENT = "environment"

SETUP = {
    "<environment_context>": ENVIRONMENT,
    "# AGENTS.md": "project instructions",
    "<user_instructions>": "project instructions",
    "<INSTRUCTIONS>": "project instructions",
    "<permissions instructions>": "permissions",
    "<collaboration_mode>": "mode",
    "<multi_agent_mode>": "mode",
    "<skills_instructions>": "skills",
    "<apps_instructions>": "apps",
    "<plugins_instructions>": "plugins",
    "<recommended_plugins>": "plugins",
    "<app-context>": "app context",
    "<additional_context>": "context",
    "<subagent_context>": "context",
    "<subagents>": "agents",
    "<child_agents_instructions>": "agents",
    "<skills_section>": "skills",
    "<plugins>": "plugins",
    "<js_repl_instructions>": "tools",
    "<personality_spec>": "personality",
    "<model_switch>": "model switch",
    "<skill>": "skill",
    "<turn_aborted>": "abort notice",
}
"""How a text begins that prepares the model; counted in the document, not shown."""

TOLD = {
    "<subagent_notification>": "subagent notification",
    "<user_shell_command>": "shell",
    "<user_action>": "user action",
    "<hook_prompt": "hook",
    "<goal_context>": "goal",
    "<external_": "external context",
    "Warning: The maximum number of unified exec processes": "client warning",
    "<codex_internal_context": "internal context",
    "Another language model started to solve this problem": "summary",
}
"""How a text begins that tells a reader something."""

REMEMBERED = frozenset({*TOLD.values(), "skill", "abort notice", "injected"})
"""Kinds that the client does not inject again by itself: a rewritten session repeats them."""

PREAMBLES = (
    "# Context from my IDE setup:",
    "# Files mentioned by the user:",
    "# Files pasted by the user:",
    "# In app browser:",
    "# Browser comments:",
    "# Diff comments:",
    "# Selected text:",
    "# Review findings:",
    "# Response annotations:",
    "<in-app-browser-context",
)
"""How a prompt begins before which an editor or the desktop program tells what the human has before them."""

_KINDS = SETUP | TOLD
_START = re.compile("|".join(re.escape(start) for start in _KINDS))
_REQUEST = re.compile(r"^## My request(?: for Codex)?:", re.MULTILINE)
_FOLDER = re.compile(r"<cwd>\s*(\S[^<]*?)\s*</cwd>|^Current working directory: *(\S.*)", re.MULTILINE)
_IMAGE_MARK = re.compile(r"\s*(?:<image(?: name=\[[^\]]*\][^>]*)?>|</image>)\s*")


def texts_of(payload: dict[str, Any]) -> list[str]:
    """The texts among the parts of a message."""
    content = payload.get("content")
    if isinstance(content, str):
        return [content]
    parts = [cast("dict[str, Any]", part) for part in listing(payload, "content") if isinstance(part, dict)]
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]


def injected_kind(payload: dict[str, Any]) -> str | None:
    """What kind of injected message this is, or None if any of its parts may be a human's."""
    texts = texts_of(payload)
    starts = [_START.match(text.lstrip()) for text in texts]
    if not texts or not all(starts) or len(texts) < len(listing(payload, "content")):
        return None
    return _KINDS[starts[0].group()] if starts[0] else None


def typed(texts: list[str]) -> str | None:
    """What a human typed, where a program put words before or beside it; None where all words may be theirs."""
    rest = [text for text in texts if not _IMAGE_MARK.fullmatch(text)]
    words = "\n".join(rest).strip()
    request = _REQUEST.search(words) if words.startswith(PREAMBLES) else None
    if request is None and len(rest) == len(texts):
        return None
    return (words[request.end() :].strip() if request else words) or None


def folder_in(words: str) -> str | None:
    """The working folder, as the model is told of it: the oldest rollouts tell it nowhere else."""
    found = _FOLDER.search(words)
    return (found[1] or found[2]) if found else None


def is_shown(kind: str) -> bool:
    """Whether a reader wants to see an injected text of this kind."""
    return kind in TOLD.values()
