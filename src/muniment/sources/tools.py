"""Tools that several agents have, and what is asked of them, in words of no agent.

Every source tells which of its own tools are of these kinds and how its inputs are said in the kind's words and back. A
session that goes to another agent has its calls renamed over this vocabulary, so no source knows another's names. A
call is renamed only if the way back gives its very input; any other stays as it is.

Some fields change nothing of what is done: a remark, a default that was spelled out, the folder in which it would have
run anyway. Where the other's tool has no field for one, it goes along under the word it has here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from msgspec import Struct

from muniment.model.codec import mapping

Given = dict[str, Any]

_REMARK = object()
"""Any value says nothing to the tool."""
_HERE = object()
"""The folder that the session is in says nothing to the tool."""


class Kind(Struct, frozen=True):
    """What a tool does, and what it is asked."""

    name: str
    fields: Mapping[str, type]
    needed: tuple[str, ...]
    silent: Mapping[str, Any] = {}
    """Fields that with this value change nothing of what is done."""


_COMMAND: dict[str, type] = {
    "command": str,
    "timeout_ms": int,
    "workdir": str,
    "background": bool,
    "description": str,
}
_UNHEARD = {"description": _REMARK, "background": False, "workdir": _HERE}

SHELL = Kind("run a command", _COMMAND, ("command",), _UNHEARD)
POWERSHELL = Kind("run a command of PowerShell", _COMMAND, ("command",), _UNHEARD)
READ = Kind("read a file", {"path": str, "first_line": int, "lines": int}, ("path",))
WRITE = Kind("write a file", {"path": str, "content": str}, ("path", "content"))
EDIT = Kind(
    "replace text in a file",
    {"path": str, "old": str, "new": str, "replace_all": bool, "description": str},
    ("path", "old", "new"),
    {"replace_all": False, "description": _REMARK},
)
PATCH = Kind("apply a patch", {"patch": str}, ("patch",))
SEARCH = Kind(
    "find lines that match",
    {"pattern": str, "path": str, "glob": str, "ignore_case": bool, "context": int},
    ("pattern",),
    {"ignore_case": False},
)
FIND = Kind("find files by name", {"pattern": str, "path": str}, ("pattern",))
LIST = Kind("list a folder", {"path": str}, ())
WEB_SEARCH = Kind("search the web", {"query": str}, ("query",))
SUBAGENT = Kind("start a subagent", {"prompt": str, "description": str, "agent": str}, ("prompt",))


class SharedTool(Struct, frozen=True):
    """One agent's tool of a kind."""

    name: str
    kind: Kind
    takes: frozenset[str]
    """The kind's fields that it has a place for."""
    plain: Callable[[Any], Given | None]
    """Its input in the kind's words; None if it asks for anything that they cannot say."""
    own: Callable[[Given], Any]
    """The kind's words, only those that it takes, as its input; None if the agent would refuse that."""
    written: bool = True
    """Whether the agent has it today; an older name, or an older shape of the input, is only read."""


Turn = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""A value in the kind's words, and back; None for one that has none."""


def shared(
    name: str,
    kind: Kind,
    fields: Mapping[str, str],
    always: Mapping[str, Any] | None = None,
    needs: tuple[str, ...] = (),
    turns: Mapping[str, Turn] | None = None,
    written: bool = True,
) -> SharedTool:
    """A tool whose fields are the kind's under names of its own.

    `always` are fields that are there with this value; without the `needs` the agent refuses a call."""
    fixed, turned = dict(always or {}), dict(turns or {})
    theirs = {word: field for field, word in fields.items()}

    def plain(given: Any) -> Given | None:
        values = mapping(given)
        if any(field not in values or not same(values[field], value) for field, value in fixed.items()):
            return None
        asked = {field: value for field, value in values.items() if field not in fixed}
        if not asked.keys() <= fields.keys():
            return None
        said = {fields[field]: turned[field][0](v) if field in turned else v for field, v in asked.items()}
        return None if None in said.values() else said

    def own(said: Given) -> Any:
        if not said.keys() >= set(needs):
            return None
        asked = {theirs[word]: value for word, value in said.items()}
        made = {field: turned[field][1](v) if field in turned else v for field, v in asked.items()}
        return None if None in made.values() else made | fixed

    return SharedTool(name, kind, frozenset(theirs), plain, own, written)


def bare(name: str, kind: Kind, word: str) -> SharedTool:
    """A tool whose input is nothing but a text."""

    def plain(given: Any) -> Given | None:
        return {word: given} if isinstance(given, str) else None

    return SharedTool(name, kind, frozenset({word}), plain, lambda said: said.get(word))


def names(ours: Mapping[str, str]) -> Turn:
    """Names that the kind has other words for."""
    back = {word: name for name, word in ours.items()}
    return (lambda name: ours.get(name) if isinstance(name, str) else None), back.get


# -- between two tools of a kind


def plain_words(tool: SharedTool, given: Any, folder: str | None) -> Given | None:
    """What a call asks for, in the words of its kind; None if they cannot say it exactly."""
    along = {
        name: value
        for name, value in mapping(given).items()
        if name not in tool.takes and _is_silent(tool.kind, name, value, folder)
    }
    rest = {name: value for name, value in mapping(given).items() if name not in along} if along else given
    said = tool.plain(rest)
    if said is None or not _fits(tool.kind, said) or not same(tool.own(said), rest):
        return None
    return said | along


def own_words(tool: SharedTool, said: Given, folder: str | None) -> Any:
    """The input with which this tool is asked the same; None if it cannot be."""
    asked = {name: value for name, value in said.items() if name in tool.takes}
    along = {name: value for name, value in said.items() if name not in tool.takes}
    if not all(_is_silent(tool.kind, name, value, folder) for name, value in along.items()):
        return None
    given = tool.own(asked)
    if along:
        given = cast("Given", given) | along if isinstance(given, dict) else None
    return given if given is not None and same(plain_words(tool, given, folder), said) else None


def _is_silent(kind: Kind, name: str, value: Any, folder: str | None) -> bool:
    if name not in kind.silent or type(value) is not kind.fields[name]:
        return False
    heard = kind.silent[name]
    return heard is _REMARK or (value == folder if heard is _HERE else value == heard)


def _fits(kind: Kind, said: Given) -> bool:
    """Whether the words are those of the kind, with values of the right types."""
    right = all(type(value) is kind.fields.get(name) for name, value in said.items())
    return right and said.keys() >= set(kind.needed)


def same(one: Any, other: Any) -> bool:
    """Whether two values of JSON are the same; a number is no truth value, and 1 is not 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        ours, theirs = cast("Given", one), cast("Given", other)
        return ours.keys() == theirs.keys() and all(same(ours[name], theirs[name]) for name in ours)
    if isinstance(one, list):
        pairs = zip(cast("list[Any]", one), cast("list[Any]", other), strict=False)
        return len(cast("list[Any]", one)) == len(other) and all(same(a, b) for a, b in pairs)
    return one == other
