"""Qwen Code's tools that other agents have too."""

from __future__ import annotations

from typing import Any

from muniment.sources.tools import (
    EDIT,
    FIND,
    LIST,
    READ,
    SEARCH,
    SHELL,
    SUBAGENT,
    WEB_SEARCH,
    WRITE,
    Turn,
    names,
    shared,
)

_COMMAND = {
    "command": "command",
    "timeout": "timeout_ms",
    "directory": "workdir",
    "is_background": "background",
    "description": "description",
}
_READ = {"file_path": "path", "offset": "first_line", "limit": "lines"}
_OLD_READ = {"absolute_path": "path", "offset": "first_line", "limit": "lines"}
_EDIT = {"file_path": "path", "old_string": "old", "new_string": "new", "replace_all": "replace_all"}
_TASK = {"prompt": "prompt", "description": "description", "subagent_type": "agent"}
_AGENTS = {"subagent_type": names({"general-purpose": "general", "Explore": "explore"})}


def _moved_by(step: int, value: Any) -> int | None:
    return value + step if isinstance(value, int) and not isinstance(value, bool) else None


_LINES: dict[str, Turn] = {"offset": (lambda value: _moved_by(1, value), lambda value: _moved_by(-1, value))}
"""The client counts lines from 0."""

TOOLS = (
    shared("run_shell_command", SHELL, _COMMAND),
    shared("read_file", READ, _READ, turns=_LINES),
    shared("read_file", READ, _OLD_READ, turns=_LINES, written=False),
    shared("write_file", WRITE, {"file_path": "path", "content": "content"}),
    shared("edit", EDIT, _EDIT),
    shared("grep_search", SEARCH, {"pattern": "pattern", "path": "path", "glob": "glob"}),
    shared("glob", FIND, {"pattern": "pattern", "path": "path"}),
    shared("list_directory", LIST, {"path": "path"}, written=False),
    shared("web_search", WEB_SEARCH, {"query": "query"}, written=False),
    shared("agent", SUBAGENT, _TASK, needs=("description",), turns=_AGENTS),
    shared("task", SUBAGENT, _TASK, turns=_AGENTS, written=False),
)
