"""Codex's tools that other agents have too.

Which shell tool a session has is up to its model; `shell_command` is that of the models that the client itself knows.
"""

from __future__ import annotations

from typing import Any, cast

from muniment.sources.tools import PATCH, SHELL, Turn, bare, shared

_LOGIN_SHELL = ["bash", "-lc"]


def _line(words: Any) -> str | None:
    """What a shell is given to run; other programs that were called with their arguments are no command line."""
    given = cast("list[Any]", words) if isinstance(words, list) else []
    return given[2] if len(given) == 3 and given[:2] == _LOGIN_SHELL and isinstance(given[2], str) else None


_WORDS: Turn = (_line, lambda line: [*_LOGIN_SHELL, line])

TOOLS = (
    shared("shell_command", SHELL, {"command": "command", "workdir": "workdir", "timeout_ms": "timeout_ms"}),
    shared("exec_command", SHELL, {"cmd": "command", "workdir": "workdir"}, written=False),
    shared(
        "shell",
        SHELL,
        {"command": "command", "workdir": "workdir", "timeout_ms": "timeout_ms"},
        turns={"command": _WORDS},
        written=False,
    ),
    shared("command_execution", SHELL, {"command": "command"}, written=False),
    bare("apply_patch", PATCH, "patch"),
)
