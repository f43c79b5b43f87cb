"""Secrets in values made of JSON. A string is judged with what stands before it (see `leads`): `{"password": "…"}`.

Nothing here calls itself: a value may be nested as deep as its decoder allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from msgspec import DecodeError, json, structs

from muniment.secrets.leads import name_members, name_parts, write_lead
from muniment.secrets.scan import Finding, find, merge

LONGEST_LEAD = 202
"""Characters of a lead that is put before a string: a name, or the last words of a command."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
SHORTEST_JSON, LONGEST_JSON = 20, 1 << 22


class Named(NamedTuple):
    """A string of a value, and the name with which it is judged."""

    text: str
    name: str
    is_beside: bool
    """Whether the name stands directly before the string, so that the text of the value says the same."""


def iter_strings(value: Any) -> Iterator[Named]:
    """Yield every string in the order in which they stand, names of members too."""
    waiting: list[tuple[Any, str, bool]] = [(value, "", True)]
    while waiting:
        item, name, is_beside = waiting.pop()
        if isinstance(item, str):
            yield Named(item, name, is_beside)
        elif isinstance(item, list):
            parts = cast("list[Any]", item)
            waiting += reversed([(part, own, False) for part, own in zip(parts, name_parts(parts, name), strict=True)])
        elif isinstance(item, dict):
            members = cast("dict[str, Any]", item)
            names = name_members(members, name)
            for key in reversed(members):
                waiting += (members[key], names[key], names[key] == key), (key, "", True)


def find_value(value: Any) -> Iterator[tuple[str, Finding]]:
    """Yield every string that holds a secret, with each of its secrets."""
    for text, name, _ in iter_strings(value):
        yield from ((text, finding) for finding in find_named(name, text))


def with_strings(value: Any, shown: Callable[[str, str], str]) -> Any:
    """Return the same value with `shown(string, name)` for each of its strings, in the order in which they stand; of an
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
            waiting += reversed([(parts, number, own) for number, own in enumerate(name_parts(parts, name))])
        elif isinstance(item, dict):
            members = cast("dict[str, Any]", item)
            holder[place] = new = dict[str, Any]()
            for member, part in members.items():
                new[_free(shown(member, ""), new)] = part
            names = name_members(members, name)
            waiting += reversed([(new, own, names[key]) for own, key in zip(new, members, strict=True)])
    return whole[0]


def _free(name: str, taken: dict[str, Any]) -> str:
    """Two members stay two, even if their names have become one."""
    while name in taken:
        name += "'"
    return name


def find_text(text: str) -> list[Finding]:
    """Return the secrets of a text. If it is JSON, its strings are judged in their structure as well."""
    return find_named("", text)


def find_named(name: str, text: str) -> list[Finding]:
    """Return the secrets of a string that has this name; places are those in the string."""
    found = _find_behind(write_lead(name), text)
    return merge([*found, *_find_in_json(text)]) if _is_json(text) else found


def _find_behind(lead: str, text: str) -> list[Finding]:
    """Return the secrets of a text that stands behind another."""
    if not lead or len(lead) > LONGEST_LEAD:
        return find(text)
    found = find(lead + text)
    own = [structs.replace(f, start=f.start - len(lead), end=f.end - len(lead)) for f in found if f.end > len(lead)]
    return [structs.replace(f, start=max(0, f.start)) for f in own]


def _is_json(text: str) -> bool:
    """Whether a text could be JSON of several values, as programs print it."""
    return text[:1] in ("{", "[") and SHORTEST_JSON <= len(text) <= LONGEST_JSON and text.rstrip()[-1:] in ("}", "]")


def _find_in_json(text: str) -> Iterator[Finding]:
    """Yield the secrets of JSON that its structure gives away and its text does not."""
    try:
        value = json.decode(text.encode("utf-8", "replace"))
    except (DecodeError, RecursionError):
        return
    judged = {(string, name) for string, name, is_beside in iter_strings(value) if name and not is_beside}
    found = {string: each for string, name in judged if (each := _find_behind(write_lead(name), string))}
    # One walk over the strings as they are written finds the places of all.
    for token in _STRING.finditer(text) if found else ():
        string = json.decode(token[0].encode("utf-8", "replace"), type=str)
        yield from (_place(finding, string, token) for finding in found.get(string, ()))


def _place(finding: Finding, string: str, token: re.Match[str]) -> Finding:
    """Return the finding of a string where it is written in JSON; all of the string if signs are escaped by number."""
    at = token.start()
    if json.encode(string).decode() != token[0]:
        return structs.replace(finding, start=at + 1, end=token.end() - 1)
    before = len(json.encode(string[: finding.start]).decode()) - 1
    size = len(json.encode(string[finding.start : finding.end]).decode()) - 2
    return structs.replace(finding, start=at + before, end=at + before + size)
