"""What a rule is: how a secret of one kind begins, how it goes on, and what tells it from something harmless.

All rules are looked for in one pass, by how they begin. Where one begins, its whole pattern is tried at that place and
nowhere else, so every pattern is short and bounded, and a long text costs its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from muniment.secrets import judge

Check = Callable[[str, str], bool]
"""Whether a match is a secret, given what follows its fixed beginning, and the text that leads to it."""

# How a name and its value are held together: `name = value`, `"name": "value"`, `name is value`.
_QUOTES = r"""["'`\\]{0,4}"""
SEPARATOR = _QUOTES + r"[ \t]{0,8}(?:=>|:=|==?|:|,|is:?[ ]|was:?[ ])\s{0,8}" + _QUOTES
END_OF_VALUE = r"(?:[^\w(\[{$]|\z)"
"""What may follow a bare value; anything else shows that it is an expression of some program."""

NAMED_BYTES = 300
"""Bytes of a name and its value; a longer value is a text."""


class Rule(Struct, frozen=True):
    """One kind of secret. Patterns are in RE2 syntax; a group, if there is one, is the part that is secret."""

    id: str
    family: str
    """Whose secret it is, for people."""
    begins: str
    """The pattern of its beginning, by which it is looked for."""
    then: str = ""
    """The pattern of what follows."""
    starts: tuple[str, ...] = ()
    """The fixed words it begins with, if there are such: no secret by themselves."""
    before: str = ""
    """What stands before the beginning and belongs to the secret …"""
    behind: int = 0
    """… and how long that is."""
    apart: bool = True
    """It does not begin in the middle of a word."""
    reach: int = 2400
    """How many bytes it may take: what keeps a text that never ends a match from being read again and again."""
    check: Check = judge.is_token

    @property
    def pattern(self) -> str:
        return f"(?:{self.before})(?:{self.begins}){self.then}"


def token(id_: str, family: str, starts: str, then: str, check: Check = judge.is_token) -> Rule:
    """A token that its issuer made recognisable: one of a few fixed words, then signs of a known kind and number."""
    words = tuple(starts.split())
    return Rule(id_, family, "|".join(map(re.escape, words)), then, words, check=check)


def named(id_: str, family: str, names: str, value: str, check: Check = judge.is_named) -> Rule:
    """A secret without a shape of its own, known by the name it is given: `DD_API_KEY=…`."""
    then = rf"[\w.-]{{0,30}}?{SEPARATOR}({value}){END_OF_VALUE}"
    return Rule(id_, family, f"(?i:{names})", then, apart=False, reach=NAMED_BYTES, check=check)
