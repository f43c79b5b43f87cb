"""Gemini CLI's tools that other agents have too."""

from __future__ import annotations

from muniment.sources.tools import EDIT, FIND, LIST, READ, SEARCH, SHELL, WEB_SEARCH, WRITE, shared

TOOLS = (
    shared(
        "run_shell_command",
        SHELL,
        {
            "command": "command",
            "dir_path": "workdir",
            "is_background": "background",
            "description": "description",
        },
    ),
    shared("read_file", READ, {"file_path": "path"}),
    shared("write_file", WRITE, {"file_path": "path", "content": "content"}),
    shared(
        "replace",
        EDIT,
        {
            "file_path": "path",
            "old_string": "old",
            "new_string": "new",
            "allow_multiple": "replace_all",
            "instruction": "description",
        },
    ),
    shared(
        "grep_search",
        SEARCH,
        {"pattern": "pattern", "dir_path": "path", "include_pattern": "glob", "context": "context"},
    ),
    shared("glob", FIND, {"pattern": "pattern", "dir_path": "path"}),
    shared("list_directory", LIST, {"dir_path": "path"}),
    shared("google_web_search", WEB_SEARCH, {"query": "query"}),
)
