"""opencode's tools that other agents have too. Older versions counted the lines of a file from 0.

Version 2 calls some otherwise; its sessions are read, and those of others are written for version 1."""

from __future__ import annotations

from muniment.sources.tools import (
    EDIT,
    FIND,
    LIST,
    PATCH,
    READ,
    SEARCH,
    SHELL,
    SUBAGENT,
    WEB_SEARCH,
    WRITE,
    names,
    shared,
)

_COMMAND = {"command": "command", "timeout": "timeout_ms", "workdir": "workdir"}
_AGENTS = {"subagent_type": names({"general": "general", "explore": "explore"})}

TOOLS = (
    shared("bash", SHELL, _COMMAND),
    shared("read", READ, {"filePath": "path", "offset": "first_line", "limit": "lines"}),
    shared("write", WRITE, {"filePath": "path", "content": "content"}),
    shared("edit", EDIT, {"filePath": "path", "oldString": "old", "newString": "new", "replaceAll": "replace_all"}),
    shared("apply_patch", PATCH, {"patchText": "patch"}),
    shared("grep", SEARCH, {"pattern": "pattern", "path": "path", "include": "glob"}),
    shared("glob", FIND, {"pattern": "pattern", "path": "path"}),
    shared("list", LIST, {"path": "path"}, written=False),
    shared("websearch", WEB_SEARCH, {"query": "query"}),
    shared(
        "task",
        SUBAGENT,
        {"prompt": "prompt", "description": "description", "subagent_type": "agent"},
        needs=("description", "agent"),
        turns=_AGENTS,
    ),
    shared("shell", SHELL, _COMMAND, written=False),
    shared("read", READ, {"path": "path", "limit": "lines"}, written=False),
    shared("write", WRITE, {"path": "path", "content": "content"}, written=False),
    shared("edit", EDIT, {"path": "path", "oldString": "old", "newString": "new"}, written=False),
    shared(
        "subagent",
        SUBAGENT,
        {"prompt": "prompt", "description": "description", "agent": "agent"},
        turns={"agent": _AGENTS["subagent_type"]},
        written=False,
    ),
)
