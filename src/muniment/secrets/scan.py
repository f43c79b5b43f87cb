"""Finding secrets: one pass over the text for how secrets begin, then one pattern at each such place.

The pass is one search of RE2 for all beginnings at once, which makes of them the same automaton as Aho and Corasick.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache

from msgspec import Struct, structs

from muniment.secrets import encoded
from muniment.secrets.pattern import Pattern
from muniment.secrets.rule import Rule
from muniment.secrets.rules import RULES

PLACEHOLDER = r"\[redacted:[a-z0-9-]{1,40}:[0-9a-f]{8}\]"
SHORTEST = 10
"""Signs of the shortest text that a rule could match; most strings of a record are shorter."""
NAME_BYTES = 32
"""How much of what stands before a beginning may tell what it is."""

_rank = {rule.id: number for number, rule in enumerate(RULES)}


class Finding(Struct, frozen=True):
    """A secret in a text: `text[start:end]`."""

    rule: Rule
    start: int
    end: int


def find(text: str) -> list[Finding]:
    """The secrets of a text in order, none overlapping another; placeholders of earlier redactions are none."""
    if len(text) < SHORTEST:
        return []
    data = text.encode("utf-8", "surrogatepass")
    found = [*_plain(data), *(Finding(*hidden) for hidden in encoded.find(data, _plain_spans))]
    if not found:
        return []
    if b"[redacted:" in data:
        found = _outside(found, list(_compiled(PLACEHOLDER).every(data)))
    merged = _merged(found)
    return merged if text.isascii() else _in_signs(data, merged)


def _plain(data: bytes) -> Iterator[Finding]:
    """What stands there openly. Where a rule found something, it is not tried again before the end of that."""
    beginnings = _beginnings()
    done: dict[str, int] = {}
    at = beginnings.search(data, 0)
    while at:
        start, end = at
        for rule in _candidates(data[start:end]):
            if done.get(rule.id, 0) <= start and (finding := _matched(rule, data, start)):
                done[rule.id] = finding.end
                yield finding
        at = beginnings.search(data, start + 1)


def _plain_spans(data: bytes) -> Iterator[tuple[Rule, int, int]]:
    return ((finding.rule, finding.start, finding.end) for finding in _plain(data))


def _matched(rule: Rule, data: bytes, at: int) -> Finding | None:
    start = at - rule.behind
    if start < 0 or (rule.apart and _inside_word(data, start)):
        return None
    match = _compiled(rule.pattern).match(data, start, start + rule.reach)
    if not match:
        return None
    begin, end = _whole_signs(data, *match[1])
    secret = data[begin:end].decode("utf-8", "replace")
    name = data[max(0, start - NAME_BYTES) : begin].decode("utf-8", "replace")
    fixed = max((len(start) for start in rule.starts if secret.startswith(start)), default=0)
    return Finding(rule, begin, end) if rule.check(secret[fixed:], name) else None


def _inside_word(data: bytes, start: int) -> bool:
    """Whether a word goes on here. The letters of an escape (`\\n`, `\\u003d`) belong to no word."""
    if not start:
        return False
    before = data[max(0, start - 12) : start]
    return bool(_word_before().match(before, 0)) and not _escape_before().match(before, 0)


def _whole_signs(data: bytes, start: int, end: int) -> tuple[int, int]:
    """A bounded pattern may end inside a sign of several bytes."""
    while start > 0 and start < len(data) and data[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return start, end


def _outside(found: list[Finding], placeholders: list[tuple[int, int]]) -> list[Finding]:
    """What touches no placeholder. Both lists are short or the text is long, so they are walked together."""
    kept: list[Finding] = []
    number = 0
    for finding in sorted(found, key=lambda f: f.start):
        while number < len(placeholders) and placeholders[number][1] <= finding.start:
            number += 1
        if number == len(placeholders) or placeholders[number][0] >= finding.end:
            kept.append(finding)
    return kept


def _merged(found: list[Finding]) -> list[Finding]:
    """Overlapping findings as one, under the more specific rule: those stand earlier in the list."""
    merged: list[Finding] = []
    for finding in sorted(found, key=lambda f: (f.start, -f.end)):
        if not merged or finding.start >= merged[-1].end:
            merged.append(finding)
            continue
        last = merged[-1]
        rule = min(last.rule, finding.rule, key=lambda r: _rank[r.id])
        merged[-1] = Finding(rule, last.start, max(last.end, finding.end))
    return merged


def _in_signs(data: bytes, found: list[Finding]) -> list[Finding]:
    """The same places, counted in signs of the text and not in bytes."""
    counted: list[Finding] = []
    byte = sign = 0
    for finding in found:
        start = sign + len(data[byte : finding.start].decode("utf-8", "surrogatepass"))
        sign = start + len(data[finding.start : finding.end].decode("utf-8", "surrogatepass"))
        byte = finding.end
        counted.append(structs.replace(finding, start=start, end=sign))
    return counted


@cache
def _compiled(pattern: str) -> Pattern:
    return Pattern(pattern)


@cache
def _beginnings() -> Pattern:
    """Every beginning at once. The longest at a place is given; the shorter ones there are its beginnings."""
    return Pattern("|".join(f"(?:{rule.begins})" for rule in RULES), longest=True)


@lru_cache(maxsize=4096)
def _candidates(beginning: bytes) -> tuple[Rule, ...]:
    """The rules that begin so, or as its first part does."""
    return tuple(rule for rule in RULES if _compiled(rule.begins).match(beginning, 0))


@cache
def _word_before() -> Pattern:
    return Pattern(r"[\s\S]*?(?:\w|\w-)\z")


@cache
def _escape_before() -> Pattern:
    return Pattern(r"[\s\S]*?(?:\\[nrtbf]|\\u[0-9A-Fa-f]{4}|(?:\\x1b|\\u001b|\x1b)\[[0-9;]{0,5}m)\z")
