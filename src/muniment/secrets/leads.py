"""What stands before a string in a value made of JSON, as text would write it: the lead with which it is judged.

{"db_password": {"value": v}}        db_password.value: v
{"name": "API_KEY", "value": v}      API_KEY: v
["X-API-Key", v]  ["--token", v]     X-API-Key: v
["mysql", "-uroot", "-p…"]           mysql -uroot -p…
{"cookies": {"session": v}}          Cookie: session=v
"""

from __future__ import annotations

import re
from typing import Any

from muniment.secrets.spellings import NAMES

LONGEST_NAME = 100
LONGEST_COMMAND = 64
"""Words of the longest list that may be a command line."""
COMMAND_CHARS = 200
"""How much of a command line stands before a word of it."""

_KNOWN = re.compile(NAMES.encode("ascii"))
_NEUTRAL = re.compile(
    r"value|val|current|new|old|default(?:_?value)?|pass|content|string|plain(?:text)?|raw", re.IGNORECASE
)
"""Names that say nothing without that of the object they are in."""
_OWNER = re.compile(
    r"(?:^|[._-])(?:secrets?|passwords?|credentials?|creds|tokens?|api[_-]?keys?)(?:\.|$)", re.IGNORECASE
)
"""Names of objects whose members are secrets, whatever those are called."""
_HARMLESS = re.compile(
    r".*(?:id|uuid|name|type|hash|sha\d*|digest|url|uri|path|file|version|arn|region|kind|status|at|date|time|count|user|"
    r"username|email|host|label|description|text|message|title|pattern|regex|source|target|model|scope|issuer|algorithm)",
    re.IGNORECASE,
)
_NAME_MEMBERS = frozenset(["name", "key", "variable", "header", "field", "option", "parameter"])
_VALUE_MEMBERS = frozenset(["value", "val", "default", "defaultvalue", "default_value"])
_COOKIE_MEMBERS = frozenset(["domain", "httponly", "samesite", "expires", "secure"])
_OTHER_SIGN = re.compile(r"[^A-Za-z0-9_.-]")
"""What no name in a text has; a member may be called anything."""
_WORD = re.compile(r"-{0,2}[\w.-]{2,60}")


def write_lead(name: str) -> str:
    """Return the text that stands before a value of this name."""
    return name if not name or name.endswith((" ", "=")) else f"{name}: "


def name_members(members: dict[str, Any], outer: str) -> dict[str, str]:
    """Return the name with which each member of an object is judged; `outer` is that of the object itself."""
    names = {key: _name_member(key, outer) if outer else key for key in members}
    told = next((key for key in members if key.lower() in _NAME_MEMBERS and isinstance(members[key], str)), None)
    held = told and next((key for key in members if key.lower() in _VALUE_MEMBERS), None)
    if told is None or held is None or not _WORD.fullmatch(members[told]):
        return names
    is_cookie = outer.lower().endswith(("cookie", "cookies")) or any(key.lower() in _COOKIE_MEMBERS for key in members)
    return names | {held: f"Cookie: {members[told]}=" if is_cookie else members[told]}


def _name_member(key: str, outer: str) -> str:
    if not outer or len(outer) + len(key) >= LONGEST_NAME:
        return key
    if outer.lower().endswith(("cookie", "cookies")) and _WORD.fullmatch(key):
        return f"Cookie: {key}="
    if _NEUTRAL.fullmatch(key) or (_OWNER.search(outer) and not _HARMLESS.fullmatch(key)):
        return f"{outer}.{_OTHER_SIGN.sub('_', key)}"
    return key


def name_parts(parts: list[Any], outer: str) -> list[str]:
    """Return the name with which each part of a list is judged. A part may follow its name or its option, and all may
    be the words of a command."""
    if not any(isinstance(part, str) for part in parts):
        return [outer] * len(parts)
    words = [part if isinstance(part, str) else "" for part in parts]
    is_command = (
        not _is_known(outer) and 1 < len(parts) <= LONGEST_COMMAND and all(words) and "\n" not in "".join(words)
    )
    names = [outer] * len(parts)
    for number in range(1, len(parts)):
        if _is_known(words[number - 1]):
            names[number] = words[number - 1]
        elif is_command:
            names[number] = " ".join(words[:number])[-COMMAND_CHARS:] + " "
    return names


def _is_known(word: str) -> bool:
    """Whether a word is a name that some rule knows, and not a sentence that has it."""
    return bool(_WORD.fullmatch(word)) and _KNOWN.search(word.encode("utf-8", "replace")) is not None
