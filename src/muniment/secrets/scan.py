"""Finding secrets: a few passes over the text, each one automaton of many rules, and over every other reading of it.

A pass is one search of RE2 for the whole patterns of its rules at once. Where one fits, the rules are asked which of
them it is. What they say about the same bytes is kept, so that a text that repeats itself is not judged again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from msgspec import structs

from muniment.secrets import assignments, encoded, listings, views
from muniment.secrets.pattern import Pattern
from muniment.secrets.rule import Finding as Finding
from muniment.secrets.rule import Pass, Rule
from muniment.secrets.rules import RULES
from muniment.secrets.spellings import WHOLE

PLACEHOLDER = r"\[redacted:[a-z0-9-]{1,40}:[0-9a-f]{8}\]"
SHORTEST = 10
"""Signs of the shortest text that a rule could match; most strings of a record are shorter."""
LEAD_BYTES = 32
"""How much of what stands before a beginning may tell what it is."""
LONGEST_TOKEN = 8192
BEGINNINGS_IN_TOKEN = 3
"""A token holds at most two other beginnings: the second part of a signed token begins like the first."""
LONGEST_COMMAND = 2000
SHORT_TEXT = 4096
"""Bytes of a text for which calling the automata takes longer than running them; one for all is asked first."""
JUDGED_BYTES = 4096
"""How much of a long secret is looked at to tell whether it is one."""
LAYERS = 2
"""How many codes may lie around a secret, such as base64 around JSON."""

_WORD_BEGINS = r"(?:[^\w-]|\A)-*"
_TOKEN_SIGNS = re.compile(rb"[^\s\"'`<>]*")
_rank = {rule.id: number for number, rule in enumerate(RULES)}


def find(text: str) -> list[Finding]:
    """The secrets of a text in order, none overlapping another; placeholders of earlier redactions are none."""
    if len(text) < SHORTEST:
        return []
    data = text.encode("utf-8", "surrogatepass")
    found = list(_search(data, LAYERS))
    if not found:
        return []
    if b"[redacted:" in data:
        found = _outside(found, list(_compiled(PLACEHOLDER).every(data)))
    merged = merge([_whole_signs(data, finding) for finding in found])
    return merged if text.isascii() else _in_signs(data, merged)


def _search(data: bytes, layers: int) -> Iterator[Finding]:
    """What stands there openly, in another reading, or in a code."""
    yield from _plain(data)
    for view in views.read(data):
        yield from _placed(view, _plain(view.data))
        if layers and not view.joints:
            yield from _placed(view, _in_codes(view.data, layers))
    if layers:
        yield from _in_codes(data, layers)


def _in_codes(data: bytes, layers: int) -> Iterator[Finding]:
    for view in encoded.read(data):
        yield from _placed(view, _search(view.data, layers - 1))


def _placed(view: views.View, found: Iterable[Finding]) -> Iterator[Finding]:
    """What was found in a reading, with its place in the text. Where lines were joined, the joint has to lie in the
    secret or in what gives it away: an address may be broken in the name of its user."""
    for finding in found:
        start, end = view.place(finding.start, finding.end)
        lead = finding.lead if 0 <= finding.lead < finding.start else finding.start
        if not view.joints or end - view.place(lead, finding.end)[0] > finding.end - lead:
            yield Finding(finding.rule, start, end)


def _plain(data: bytes) -> Iterator[Finding]:
    yield from _pass(data, Pass.BLOCKS)
    yield from listings.find(data)
    if len(data) < SHORT_TEXT and not _any_automaton().search(data, 0):
        return
    yield from _tokens(data)
    for pass_ in (Pass.WORDS, Pass.ANYWHERE):
        yield from _pass(data, pass_)
    yield from _commands(data)
    yield from assignments.find(data)


def _tokens(data: bytes) -> Iterator[Finding]:
    """The tokens, by how they begin. Most texts have none, which one search for all whole patterns says; but to say
    where a match begins takes RE2 milliseconds, as it has to go back through a hundred patterns at once."""
    if not _automaton(Pass.TOKENS).search(data, 0):
        return
    spans = list(_token_beginnings().every(data))
    ends = [start for start, _ in spans[BEGINNINGS_IN_TOKEN:]] + [len(data)] * BEGINNINGS_IN_TOKEN
    done = 0
    for (start, end), limit in zip(spans, ends, strict=False):
        if start < done:
            continue
        last = _TOKEN_SIGNS.match(data, end, min(start + LONGEST_TOKEN, limit))
        piece = data[start : last.end() + 1 if last else end]
        found = _judged(Pass.TOKENS, data[max(0, start - LEAD_BYTES) : start], piece)
        yield from (Finding(rule, start + first, start + last) for rule, first, last in found)
        done = start + found[0][2] if found else end


def _commands(data: bytes) -> Iterator[Finding]:
    """The passwords of command lines. Each command is read up to the next one, the end of its line or a limit, so that
    a long line of many commands is not gone through for each of them."""
    if not _automaton(Pass.COMMANDS).search(data, 0):
        return
    spans = list(_command_beginnings().every(data))
    ends = [start for start, _ in spans[1:]] + [len(data)]
    for (start, end), limit in zip(spans, ends, strict=False):
        line = data.find(b"\n", end, min(limit, start + LONGEST_COMMAND))
        piece = data[start : line if line >= 0 else min(limit, start + LONGEST_COMMAND)]
        for rule, first, last in _judged(Pass.COMMANDS, data[max(0, start - LEAD_BYTES) : start], piece):
            yield Finding(rule, start + first, start + last, start)


def _pass(data: bytes, pass_: Pass) -> Iterator[Finding]:
    """The findings of one pass. Where something fits, the search goes on behind it, secret or not."""
    search = _automaton(pass_).search
    span = search(data, 0)
    while span:
        start, end = span
        # One more byte, as patterns may look at what follows.
        found = _judged(pass_, data[max(0, start - LEAD_BYTES) : start], data[start : end + 1])
        yield from (Finding(rule, start + first, start + last, start) for rule, first, last in found)
        span = search(data, max(start + 1, found[0][2] + start if found else end))


@lru_cache(maxsize=4096)
def _judged(pass_: Pass, lead: bytes, piece: bytes) -> list[tuple[Rule, int, int]]:
    """The rules of a pass that take the beginning of this piece for a secret, the strongest first."""
    begin = _compiled(_lead_pattern(pass_)).match(piece, 0)
    at = begin[0][1] if begin else 0
    found = [
        (rule, *span) for rule in _candidates(pass_, piece[at : at + 64]) if (span := _matched(rule, lead, piece, at))
    ]
    return sorted(found, key=lambda f: -f[2])


def _matched(rule: Rule, lead: bytes, piece: bytes, at: int) -> tuple[int, int] | None:
    match = _compiled(rule.pattern).match(piece, at)
    if not match:
        return None
    begin, end = match[1]
    secret = piece[begin : min(end, begin + JUDGED_BYTES)].decode("utf-8", "replace")
    name = (lead + piece[:begin]).decode("utf-8", "replace")
    fixed = max((len(start) for start in rule.starts if secret.startswith(start)), default=0)
    return (begin, end) if rule.check(secret[fixed:], name) else None


def _whole_signs(data: bytes, finding: Finding) -> Finding:
    """A bounded pattern may end inside a sign of several bytes."""
    start, end = finding.start, finding.end
    while 0 < start < len(data) and data[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return Finding(finding.rule, start, end)


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


def merge(found: list[Finding]) -> list[Finding]:
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


def _lead_pattern(pass_: Pass) -> str:
    """The pattern of what stands before a match of this pass."""
    return _WORD_BEGINS if pass_ in (Pass.TOKENS, Pass.WORDS) else ""


@cache
def _automaton(pass_: Pass) -> Pattern:
    """The whole patterns of a pass at once. Of those that fit at a place the longest is given, except of blocks: a
    command reaches to its first password and not to the last one of a long line, or each would go through that line."""
    return Pattern(_whole_pattern(pass_), pass_ not in (Pass.BLOCKS, Pass.COMMANDS), groups=False)


@cache
def _command_beginnings() -> Pattern:
    return Pattern("|".join(f"(?:{rule.begins})" for rule in RULES if rule.search is Pass.COMMANDS), groups=False)


def _whole_pattern(pass_: Pass) -> str:
    whole = "|".join(f"(?:{rule.pattern})" for rule in RULES if rule.search is pass_)
    return f"{_lead_pattern(pass_)}(?:{whole})"


@cache
def _any_automaton() -> Pattern:
    """All passes at once, to say that a text has nothing of any of them. Blocks and whole commands are left out, as
    they would give the automaton too many states."""
    wholes = [_whole_pattern(pass_) for pass_ in (Pass.TOKENS, Pass.WORDS, Pass.ANYWHERE)]
    begins = [rule.begins for rule in RULES if rule.search is Pass.COMMANDS]
    return Pattern("|".join(f"(?:{pattern})" for pattern in [*wholes, *begins, WHOLE]), groups=False)


@cache
def _token_beginnings() -> Pattern:
    """How tokens begin, with a few of the signs that follow, so that a text of nothing but beginnings has none."""
    begins = "|".join(rule.begins for rule in RULES if rule.search is Pass.TOKENS)
    return Pattern(rf"{_WORD_BEGINS}(?:{begins})[^\s\"'`<>]{{6}}", groups=False)


@lru_cache(maxsize=4096)
def _candidates(pass_: Pass, beginning: bytes) -> tuple[Rule, ...]:
    """The rules that could begin so."""
    return tuple(rule for rule, words in _rules(pass_, beginning[:2]) if _could_begin(rule, words, beginning))


def _could_begin(rule: Rule, words: tuple[bytes, ...], beginning: bytes) -> bool:
    if words:
        return beginning.startswith(words)
    return (
        bool(rule.before)
        or rule.search in (Pass.BLOCKS, Pass.COMMANDS)
        or _compiled(rule.begins).match(beginning, 0) is not None
    )


@lru_cache(maxsize=4096)
def _rules(pass_: Pass, first: bytes) -> tuple[tuple[Rule, tuple[bytes, ...]], ...]:
    """The rules of a pass that may begin with these two signs, each with its fixed words."""
    rules = ((rule, tuple(word.encode("ascii") for word in rule.starts)) for rule in RULES if rule.search is pass_)
    return tuple((rule, words) for rule, words in rules if not words or any(word[:2] == first for word in words))
