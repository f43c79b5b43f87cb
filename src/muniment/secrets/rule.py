"""What a rule is: how a secret of one kind begins, how it goes on, and what tells it from something harmless.

All rules are looked for in a few passes, each one automaton of many whole patterns. Only where a whole pattern fits is
it asked which rule that is and whether the value is a secret, so a text without secrets costs its length alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum

from msgspec import Struct

from muniment.secrets import judge

Check = Callable[[str, str], bool]
"""Whether a match is a secret, given what follows its fixed beginning, and the text that leads to it."""

# How a name and its value are held together where a rule says it itself: `name = value`, `"name": "value"`.
_QUOTES = r"""["'`\\]{0,4}"""
SEPARATOR = _QUOTES + r"\]?[ \t]{0,8}(?:=>|:=|==?|:|,|\||is:?[ ]|was:?[ ])\s{0,8}" + _QUOTES
END_OF_VALUE = r"(?:[^\w(\[{$]|\z)"
"""What may follow a bare value; anything else shows that it is an expression of some program."""

NAMED_BYTES = 300
"""Bytes of a name and its value; a longer value is a text."""


class Pass(Enum):
    """The automaton in which a rule is looked for."""

    TOKENS = "tokens"
    """It begins with a fixed word, and not in the middle of another."""
    WORDS = "words"
    """It does not begin in the middle of a word."""
    ANYWHERE = "anywhere"
    BLOCKS = "blocks"
    """Several lines."""
    COMMANDS = "commands"
    """An option somewhere behind the name of a program, on one line."""
    NAMES = "names"
    """It is known by the name it is given; see `assignments`."""


class Rule(Struct, frozen=True):
    """One kind of secret. Patterns are in RE2 syntax; a group, if there is one, is the part that is secret."""

    id: str
    family: str
    """Whose secret it is, for people."""
    begins: str
    """The pattern of its beginning, or of the name that it is given."""
    then: str = ""
    """The pattern of what follows; of a named rule, the pattern of the whole value."""
    starts: tuple[str, ...] = ()
    """The fixed words it begins with, if there are such: no secret by themselves."""
    before: str = ""
    """What stands before the beginning and belongs to the secret."""
    search: Pass = Pass.WORDS
    check: Check = judge.is_token

    @property
    def pattern(self) -> str:
        return f"(?:{self.before})(?:{self.begins}){self.then}"


class Finding(Struct, frozen=True):
    """A secret in a text: `text[start:end]`."""

    rule: Rule
    start: int
    end: int
    lead: int = -1
    """Where that begins which gives the secret away: a name, a scheme, a command; -1 if it is the secret itself."""


def token(id_: str, family: str, starts: str, then: str, check: Check = judge.is_token) -> Rule:
    """A token that its issuer made recognisable: one of a few fixed words, then signs of a known kind and number."""
    words = tuple(starts.split())
    return Rule(id_, family, "|".join(map(re.escape, words)), then, words, search=Pass.TOKENS, check=check)


def anywhere(id_: str, family: str, begins: str, then: str, check: Check = judge.is_token) -> Rule:
    """A secret beside something that gives it away, in the middle of a word or not."""
    return Rule(id_, family, begins, then, search=Pass.ANYWHERE, check=check)


def command(id_: str, family: str, begins: str, then: str, check: Check = judge.is_given_password) -> Rule:
    """A secret among the words of a command line, which begins with the name of a program."""
    return Rule(id_, family, begins, then, search=Pass.COMMANDS, check=check)


def block(id_: str, family: str, begins: str, then: str, check: Check = judge.is_given_password) -> Rule:
    """A secret of many lines, or far from what gives it away."""
    return Rule(id_, family, begins, then, search=Pass.BLOCKS, check=check)


def named(id_: str, family: str, names: str, value: str, check: Check = judge.is_named) -> Rule:
    """A secret without a shape of its own, known by the name it is given: `DD_API_KEY=…`."""
    return Rule(id_, family, names, value, search=Pass.NAMES, check=check)
