"""Claude Code's tools that other agents have too."""

from __future__ import annotations

from muniment.sources.tools import (
    EDIT,
    FIND,
    LIST,
    POWERSHELL,
    READ,
    SEARCH,
    SHELL,
    SUBAGENT,
    WEB_SEARCH,
    WRITE,
    names,
    shared,
)

_COMMAND = {
    "command": "command",
    "timeout": "timeout_ms",
    "run_in_background": "background",
    "description": "description",
}
_SEARCH = {"pattern": "pattern", "path": "path", "glob": "glob", "-i": "ignore_case", "-C": "context"}
_TASK = {"prompt": "prompt", "description": "description", "subagent_type": "agent"}
_AGENTS = {"subagent_type": names({"general-purpose": "general", "Explore": "explore"})}

TOOLS = (
    shared("Bash", SHELL, _COMMAND),
    shared("PowerShell", POWERSHELL, _COMMAND),
    shared("Read", READ, {"file_path": "path", "offset": "first_line", "limit": "lines"}),
    shared("Write", WRITE, {"file_path": "path", "content": "content"}),
    shared(
        "Edit",
        EDIT,
        {"file_path": "path", "old_string": "old", "new_string": "new", "replace_all": "replace_all"},
    ),
    shared("Grep", SEARCH, _SEARCH, always={"output_mode": "content", "-n": True}),
    shared("Grep", SEARCH, _SEARCH, always={"output_mode": "content"}, written=False),
    shared("Glob", FIND, {"pattern": "pattern", "path": "path"}),
    shared("LS", LIST, {"path": "path"}, written=False),
    shared("WebSearch", WEB_SEARCH, {"query": "query"}),
    shared("Agent", SUBAGENT, _TASK, needs=("description", "agent"), turns=_AGENTS),
    shared("Task", SUBAGENT, _TASK, turns=_AGENTS, written=False),
)
