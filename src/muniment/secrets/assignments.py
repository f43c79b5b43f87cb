"""Secrets known by their name: a name that some rule knows, and a value that the rule takes for a secret.

One automaton finds the names with a value behind them, in every spelling (see `spellings`). A value ends at the latest
where the next name begins, so each byte is judged once, and what follows an empty value is a value of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from muniment.secrets.pattern import Pattern, Span
from muniment.secrets.rule import NAMED_BYTES, Finding, Rule
from muniment.secrets.spellings import LEAD, NAMED, WHOLE

LEAD_BYTES = 32
"""How much of what stands before a name may tell what it is."""
SHORTEST = 8
"""Bytes of the shortest value."""
LONGEST = 4096
"""Bytes of a name and its value that are looked at; session tokens of a cloud are the longest values."""
LONGEST_EXPRESSION = 30
"""From so many signs on, brackets among them are those of a generator and not of a call."""

_VALUE_END = re.compile(rb"[^\s\"'`<>\\,;(){}\[\]|]+")
_WITH_BRACKETS = re.compile(rb"[^\s\"'`<>\\,;{}\[\]|]+")
_PAIR = re.compile(rb"[\w%.~+/:@=-]*?[&;](?=[A-Za-z_][\w.-]{0,40}=)")
"""The value of a pair of an address: what is written there has no other signs, and another pair follows."""
_WORDS = re.compile(
    rb"[A-Za-z0-9]{2,14}(?:,? [A-Za-z0-9]{2,14}){2,23}(?=[ \t]*[|<]|[ \t]*\xe2\x94\x82|[\"'`]|[,.;]\s|\s*(?:\n|\Z))"
)
_SPACE = re.compile(rb"\s")
_TRAILING = b".,:;!?*/$"

_ARGUMENT = re.compile(rb"[\w.)\]]\s*,(?:[^,=:]|::)*\Z|,\s*\Z")
"""Two arguments: a comma means a name and its value only between quoted ones."""
_NEXT_LINE = re.compile(rb"\n\s*\Z")
"""A word on the next line, which is a value only in the two places below."""
_BLOCK = re.compile(rb"[:=][ \t]*[|>][+-]?[ \t]*\r?\n\s*\Z")
_ELEMENT = re.compile(rb">\s*\Z")
_CLOSING = re.compile(rb"\s*<")


class _Value(NamedTuple):
    lead: int
    """Where the lead begins, and so what gives the value away."""
    start: int
    end: int


def find(data: bytes) -> Iterator[Finding]:
    """Yield the values that a name calls secret and that look like one."""
    search = _search().search
    span = search(data, 0)
    while span:
        lead = _find_lead(data, span)
        # The search goes on behind the lead and not behind the value: what is no value may hold a name.
        span = search(data, lead[1])
        limit = span[0] if span else len(data)
        value = _find_value(data, lead, limit) if limit - lead[1] >= SHORTEST else None
        if value and (rule := _find_rule(data, value)):
            yield Finding(rule, value.start, value.end, value.lead)
            if span and span[0] < value.end:
                span = search(data, value.end)


def _find_lead(data: bytes, span: Span) -> Span:
    """Return where the lead of a match lies. Of a long row of names only the last ones are looked at."""
    start, end = span
    if end - start > LONGEST:
        start = end - NAMED_BYTES
    lead = _lead().match(data, start, end) or _lead().search(data, start, end)
    return lead.span() if lead else (start, end)


def _find_value(data: bytes, lead: Span, limit: int) -> _Value | None:
    """Return where the value behind a lead lies. None if it is an expression of some program."""
    start, at = lead
    said = data[start:at]
    is_element = bool(_ELEMENT.search(said))
    is_block = bool(_BLOCK.search(said))
    if _ARGUMENT.search(said) or (_NEXT_LINE.search(said) and not is_block and not is_element):
        return None
    if end := _find_quoted_end(data, at, limit):
        return _Value(start, at, end)
    if (words := _WORDS.match(data, at)) and words.end() <= limit:
        return _Value(start, at, words.end())
    end = _find_bare_end(data, at, limit, is_element and not is_block)
    return _Value(start, at, end) if end else None


def _find_quoted_end(data: bytes, at: int, limit: int) -> int | None:
    quote = data[at - 1 : at]
    if quote not in (b'"', b"'", b"`"):
        return None
    closed = data.find(quote, at, min(at + LONGEST, limit))
    return closed if closed >= at and not _SPACE.search(data, at, closed) else None


def _find_bare_end(data: bytes, at: int, limit: int, is_element: bool) -> int | None:
    """Return the end of a value without quotes: that of its word, or where the next pair of an address begins."""
    word = _VALUE_END.match(data, at, min(at + LONGEST, limit))
    end = word.end() if word else at
    follows = data[end : end + 1]
    if follows and follows in b"([{)":
        whole = _WITH_BRACKETS.match(data, at, min(at + LONGEST, limit))
        end = whole.end() if whole and whole.end() - at >= LONGEST_EXPRESSION else end if follows == b")" else at
    if end == at or (is_element and not _CLOSING.match(data, end)):
        return None
    pair = _PAIR.match(data, at, end)
    return at + len(data[at : pair.end() - 1 if pair else end].rstrip(_TRAILING))


def _find_rule(data: bytes, value: _Value) -> Rule | None:
    """Return the first rule that knows the name and takes the value for a secret."""
    known = _rules(data[value.lead : value.start])
    return _judged(known, data[max(0, value.lead - LEAD_BYTES) : value.start], data[value.start : value.end])


@lru_cache(maxsize=4096)
def _rules(name: bytes) -> tuple[Rule, ...]:
    """Return the rules that know a name."""
    return tuple(rule for rule in NAMED if re.search(rule.begins.encode("ascii"), name, re.IGNORECASE))


@lru_cache(maxsize=8192)
def _judged(rules: tuple[Rule, ...], name: bytes, value: bytes) -> Rule | None:
    name_, value_ = name.decode("utf-8", "replace"), value.decode("utf-8", "replace")
    return next((rule for rule in rules if re.fullmatch(rule.then, value_) and rule.check(value_, name_)), None)


@cache
def _search() -> Pattern:
    return Pattern(WHOLE, longest=True, groups=False)


@cache
def _lead() -> re.Pattern[bytes]:
    return re.compile(LEAD.encode("ascii"))
