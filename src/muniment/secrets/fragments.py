"""Secrets of which a line shows only a part: titles, previews and summaries, made of prompts by joining and cutting.

A passphrase on a line of its own is known by the end of that line, one in quotes by the closing quote, the words of a
wallet by their number. A line that was made of several has lost these signs. So here less is asked: any row of words
behind the name of a password, and any long row of words that no grammar holds together. What is hidden too much is a
few words of a title.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.secrets import judge
from muniment.secrets.pattern import Span

FEWEST_NAMED = 3
"""Words behind the name of a password that are taken for it."""
FEWEST_LOOSE, FEWEST_CUT = 10, 4
"""Words in a row that are taken for those of a wallet; fewer where the line was cut in their midst."""

_NAME = re.compile(
    r"(?i:passw(?:or)?d|passphrase|passcode|pwd|psk|mnemonic|seed|(?:seed|recovery|backup|secret)[ _-](?:phrase|words))"
    r"\w*[\"'`*)\]]{0,3}\s?(?:(?:[:=]+|is:?|was:?)[\s*_]{0,4}([\"'`]?)|([\"'`]))"
)
_WORD = re.compile(r"[A-Za-z0-9]{2,14}")
_LOOSE_WORD = re.compile(r"[a-z]{3,8}")
_APART = re.compile(r",? |\Z")
_JOINED = re.compile(r",? |[-_.](?=\w)|\Z")


def iter_fragments(line: str, is_cut: bool) -> Iterator[Span]:
    """Yield where a line may show a part of a secret, in order and apart from each other."""
    done = 0
    for span in sorted([*_iter_named(line, is_cut), *_iter_loose(line, is_cut)]):
        if span[1] > done:
            yield max(span[0], done), span[1]
            done = span[1]


def _iter_named(line: str, is_cut: bool) -> Iterator[Span]:
    """Yield the words behind the name of a password: up to the closing quote, or as far as no grammar holds them."""
    for name in _NAME.finditer(line):
        start, quote = name.end(), name[1] or name[2]
        closed = line.find(quote, start) if quote else -1
        if quote and (closed >= 0 or is_cut):
            end = closed if closed >= 0 else len(line)
            count = line.count(" ", start, end) + 1
        else:
            end, count = _measure_row(line, start, _WORD, _JOINED)
        if count >= FEWEST_NAMED or (is_cut and end == len(line)):
            yield start, end


def _iter_loose(line: str, is_cut: bool) -> Iterator[Span]:
    """Yield the rows of words as a wallet has them."""
    at = 0
    while word := _LOOSE_WORD.search(line, at):
        end, count = _measure_row(line, word.start(), _LOOSE_WORD, _APART)
        if count >= FEWEST_LOOSE or (is_cut and end == len(line) and count >= FEWEST_CUT):
            yield word.start(), end
        at = max(end, word.end())


def _measure_row(line: str, start: int, pattern: re.Pattern[str], joint: re.Pattern[str]) -> tuple[int, int]:
    """Return the end of the row of words that begins here, and how many they are."""
    at = end = start
    count = 0
    while (word := pattern.match(line, at)) and not judge.is_grammar(word[0]):
        between = joint.match(line, word.end())
        if not between and line[word.end() : word.end() + 1].isalnum():
            break
        end, count = word.end(), count + 1
        if not between or between.end() == len(line):
            break
        at = between.end()
    return end, count
