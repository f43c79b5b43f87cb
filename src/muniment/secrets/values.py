"""Secrets in values made of JSON. A string is judged with the name it has, as in `{"password": "…"}`.

Nothing here calls itself: a value may be nested as deep as its decoder allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from msgspec import structs

from muniment.secrets.scan import Finding, find

_LONGEST_NAME = 100


def find_value(value: Any) -> Iterator[tuple[str, Finding]]:
    """Every string that holds a secret, names of members too, with each of its secrets."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        name, item = waiting.pop()
        if isinstance(item, str):
            yield from ((item, finding) for finding in find_named(name, item))
        elif isinstance(item, list):
            waiting += [(name, part) for part in reversed(cast("list[Any]", item))]
        elif isinstance(item, dict):
            members = cast("dict[str, Any]", item)
            waiting += [pair for key in reversed(members) for pair in ((key, members[key]), ("", key))]


def with_strings(value: Any, shown: Callable[[str, str], str]) -> Any:
    """The same value with `shown(string, name)` for each of its strings, in the order in which they stand; of an
    object, first the names of its members, which have no name themselves."""
    whole: list[Any] = [value]
    waiting: list[tuple[Any, Any, str]] = [(whole, 0, "")]
    while waiting:
        holder, place, name = waiting.pop()
        item = holder[place]
        if isinstance(item, str):
            holder[place] = shown(item, name)
        elif isinstance(item, list):
            holder[place] = parts = cast("list[Any]", item).copy()
            waiting += [(parts, number, name) for number in reversed(range(len(parts)))]
        elif isinstance(item, dict):
            members = cast("dict[str, Any]", item)
            holder[place] = new = dict[str, Any]()
            for member, part in members.items():
                new[_free(shown(member, ""), new)] = part
            waiting += [(new, *names) for names in reversed(list(zip(new, members, strict=True)))]
    return whole[0]


def _free(name: str, taken: dict[str, Any]) -> str:
    """Two members stay two, even if their names have become one."""
    while name in taken:
        name += "'"
    return name


def find_named(name: str, text: str) -> list[Finding]:
    """The secrets of a string that has this name; places are those in the string."""
    if not name or len(name) > _LONGEST_NAME:
        return find(text)
    lead = f"{name}: "
    found = find(lead + text)
    own = [structs.replace(f, start=f.start - len(lead), end=f.end - len(lead)) for f in found if f.end > len(lead)]
    return [structs.replace(f, start=max(0, f.start)) for f in own]
