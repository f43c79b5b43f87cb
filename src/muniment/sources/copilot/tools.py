"""Copilot CLI's tools that other agents have too."""

from __future__ import annotations

from muniment.sources.tools import EDIT, FIND, PATCH, POWERSHELL, READ, SEARCH, SHELL, WEB_SEARCH, WRITE, bare, shared

_COMMAND = {"command": "command", "description": "description"}
_SEARCH = {"pattern": "pattern", "paths": "path", "glob": "glob", "-i": "ignore_case", "-C": "context"}
_LINES = {"output_mode": "content", "-n": True}

TOOLS = (
    shared("bash", SHELL, _COMMAND),
    shared("powershell", POWERSHELL, _COMMAND),
    shared("view", READ, {"path": "path"}),
    shared("create", WRITE, {"path": "path", "file_text": "content"}),
    shared("edit", EDIT, {"path": "path", "old_str": "old", "new_str": "new"}),
    shared("grep", SEARCH, _SEARCH, always=_LINES),
    shared("rg", SEARCH, _SEARCH, always=_LINES),
    shared("glob", FIND, {"pattern": "pattern", "paths": "path"}),
    bare("apply_patch", PATCH, "patch"),
    shared("web_search", WEB_SEARCH, {"query": "query"}),
)
