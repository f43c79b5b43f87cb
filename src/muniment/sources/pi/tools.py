"""pi's tools that other agents have too."""

from __future__ import annotations

from typing import Any, cast

from muniment.model.codec import mapping
from muniment.sources.tools import EDIT, FIND, LIST, READ, SEARCH, SHELL, WRITE, Given, SharedTool, Turn, shared

_EDIT = {"oldText": "old", "newText": "new"}


def _milliseconds(seconds: Any) -> int | None:
    return seconds * 1000 if type(seconds) is int else None


def _seconds(milliseconds: int) -> int | None:
    return milliseconds // 1000 if milliseconds % 1000 == 0 else None


_TIME: Turn = (_milliseconds, _seconds)


def _single(given: Any) -> Given | None:
    """A call with one replacement; several are told apart from one another, which others do not do."""
    edits = mapping(given).get("edits")
    if not isinstance(edits, list) or len(cast("list[Any]", edits)) != 1 or mapping(given).keys() != {"path", "edits"}:
        return None
    edit = mapping(edits[0])
    said = {word: edit[field] for field, word in _EDIT.items() if field in edit}
    return {"path": given["path"]} | said if len(said) == len(edit) else None


def _edits(said: Given) -> Any:
    return {"path": said["path"], "edits": [{field: said[word] for field, word in _EDIT.items()}]}


TOOLS = (
    shared("bash", SHELL, {"command": "command", "timeout": "timeout_ms"}, turns={"timeout": _TIME}),
    shared("read", READ, {"path": "path", "offset": "first_line", "limit": "lines"}),
    shared("write", WRITE, {"path": "path", "content": "content"}),
    SharedTool("edit", EDIT, frozenset({"path", "old", "new"}), _single, _edits),
    shared("edit", EDIT, {"path": "path"} | _EDIT, written=False),
    shared(
        "grep",
        SEARCH,
        {"pattern": "pattern", "path": "path", "glob": "glob", "ignoreCase": "ignore_case", "context": "context"},
    ),
    shared("find", FIND, {"pattern": "pattern", "path": "path"}),
    shared("ls", LIST, {"path": "path"}),
)
