"""Secrets known by their name: every way in which text gives a name and then a value.

    X=v   export X=v   "x": "v"   x: v   x => v   x := v   let x: &str = "v"   environ["X"] = "v"   define('X', 'v')
    --x v   --x=v   ENV X v   <x>v</x>   <add key="X" value="v"/>   {"name": "X", "value": "v"}   | X | v |   **X:** `v`

One automaton finds a name that some rule knows, with a value behind it. Then the rules of that name look at the value.
Names that follow each other directly are one match, so a text of nothing but names is one match too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from muniment.secrets.pattern import Pattern
from muniment.secrets.rule import NAMED_BYTES, Finding, Pass, Rule
from muniment.secrets.rules import RULES

LEAD_BYTES = 32
"""How much of what stands before a name may tell what it is."""
LONGEST = 4096
"""Bytes of a name and its value that are looked at; session tokens of a cloud are the longest values."""

_NAMED = tuple(rule for rule in RULES if rule.search is Pass.NAMES)
_NAMES = "(?i:" + "|".join(f"(?:{rule.begins})" for rule in _NAMED) + ")"
_CLOSE = r"[\w.-]*[\"'`*)\]\\]{0,6}"
_TYPE = r"(?:[ \t]{0,2}:[ \t]{0,2}&?(?:'\w{1,8} )?[A-Za-z][A-Za-z:<>\[\]?| ]{0,24}|[ \t][Ss]tring)?"
_LINK = (
    r"(?:[\s,]{1,8}[\"']?(?i:value)[\"']?[ \t]{0,2}[=:]"
    r"|[ \t]{0,40}(?:=>|:=|==?|:|,|\|)|>|[ \t]{1,2}(?:is|was):?[ \t])"
)
_WRAPPER = r"[*_]{0,3}\s{0,8}[*_\\]{0,6}(?:(?:String::from|Some|new \w{1,20})?\()?"
_OPEN = rf"{_WRAPPER}[\"'`]{{0,3}}"
_LEAD = rf"(?:{_NAMES}{_CLOSE}(?:{_TYPE}{_LINK}){_OPEN})+"
_COMMAND = (
    rf"(?:--[\w-]*|-[\w]*|(?:ENV|ARG|setx|setenv|set -\w{{1,3}}) {{1,2}}\w*){_NAMES}[\w-]*[\"']?(?: {{1,2}}|=)[\"'`]?"
)
_BARE = r"[^\s\"'`<>\\,;(){}\[\]|]{8,}"
_QUOTED = r"[rbfuL@]{0,2}[\"'`][^\s\"'`]{8,}"
_WORDS = r"[A-Za-z]{2,14}(?:,? [A-Za-z]{2,14}){2,23}"
WHOLE = rf"(?:{_LEAD}|{_COMMAND})(?:{_BARE}|{_QUOTED}|{_WORDS})"
"""A name and something behind it that could be its value."""

_VALUE_END = re.compile(rb"[^\s\"'`<>\\,;(){}\[\]|]+")
_PAIR = re.compile(rb"[&?;][\w.-]{1,40}=")
_WORDS_HERE = re.compile(rb"[A-Za-z]{2,14}(?:,? [A-Za-z]{2,14}){2,23}(?=[\"'`<|]|\s*(?:\n|\Z))")

_NO_VALUE = re.compile(rb"[\w.)\]]\s*,\s*[rbfuL@]{0,2}[\"'`]{0,3}\Z|,\s*\Z|\n\s*\Z")
"""What only looks like a name and a value: two arguments, for a comma means that only between quoted ones; and a word
on the next line."""


class _Value(NamedTuple):
    start: int
    end: int
    resume: int
    """Where the search goes on: behind the value, or in it, if it is a text that may hold names itself."""


def find(data: bytes) -> Iterator[Finding]:
    """The values that a name calls secret and that look like one."""
    search = _search().search
    span = search(data, 0)
    while span:
        start, end = span
        if end - start > LONGEST:  # a value that long is a text; a row of names has its value at the end
            start = max(start, end - NAMED_BYTES)
        value = _value(data, start, end)
        if value and (rule := _rule(data, start, value)):
            yield Finding(rule, value.start, value.end)
        span = search(data, value.resume if value else end)


def _value(data: bytes, start: int, end: int) -> _Value | None:
    """Where the value of a match lies. None if it is an expression of some program."""
    lead = _lead().match(data, start, end) or _lead().search(data, start, end)
    if not lead:
        return None
    at = lead.end()
    if _NO_VALUE.search(lead[0]):
        return None
    quote = data[at - 1 : at]
    if quote in (b'"', b"'", b"`"):
        closed = data.find(quote, at, at + LONGEST)
        if closed >= at and not re.search(rb"\s", data[at:closed]):
            return _Value(at, closed, closed)
    if words := _WORDS_HERE.match(data, at):
        return _Value(at, words.end(), at)
    return _bare(data, at, is_element=lead[0].endswith(b">"))


def _bare(data: bytes, at: int, is_element: bool) -> _Value | None:
    """A value without quotes. It ends with its word, or where the next pair of an address begins."""
    word = _VALUE_END.match(data, at, at + LONGEST)
    if not word:
        return None
    end, follows = word.end(), data[word.end() : word.end() + 1]
    if (follows and follows in b"([{") or (is_element and follows != b"<"):
        return None
    pair = _PAIR.search(data, at, end)
    end = pair.start() if pair else end
    return _Value(at, at + len(data[at:end].rstrip(b".,:;!?*")), max(end, at + 1))


def _rule(data: bytes, start: int, value: _Value) -> Rule | None:
    """The first rule that knows the name and takes the value for a secret."""
    known = _rules(data[start : value.start])
    return _judged(known, data[max(0, start - LEAD_BYTES) : value.start], data[value.start : value.end])


@lru_cache(maxsize=4096)
def _rules(name: bytes) -> tuple[Rule, ...]:
    """The rules that know a name."""
    return tuple(rule for rule in _NAMED if re.search(rule.begins.encode("ascii"), name, re.IGNORECASE))


@lru_cache(maxsize=8192)
def _judged(rules: tuple[Rule, ...], name: bytes, value: bytes) -> Rule | None:
    name_, value_ = name.decode("utf-8", "replace"), value.decode("utf-8", "replace")
    return next((rule for rule in rules if re.fullmatch(rule.then, value_) and rule.check(value_, name_)), None)


@cache
def _search() -> Pattern:
    return Pattern(WHOLE, longest=True, groups=False)


@cache
def _lead() -> re.Pattern[bytes]:
    lead = rf"{_LEAD}(?:[rbfuL@]{{1,2}}(?=[\"'])[\"']{{1,3}})?"
    return re.compile(rf"{lead}|{_COMMAND}".encode("ascii"))
