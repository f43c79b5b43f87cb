"""Words for listings."""

from __future__ import annotations

import re

_PUT_BEFORE = re.compile(r"\s*<([a-z]+(?:[-_][a-z]+)+)(?:\s[^<>]*)?>.*?</\1>\s*", re.DOTALL)
"""A text in a tag as programs name theirs: of two words, which no tag of HTML has."""

CUT = "…"
"""The sign at the end of a text that was cut."""
SUMMARY_CHARS = 200
"""Of a line that stands for a summary until there is one: a longer title is cut there without a sign."""


def shortened(text: str, limit: int) -> str:
    """Text of at most so many characters; where some were cut off, a sign says so."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + CUT


def typed(text: str) -> str:
    """A prompt without what a program put before it in tags of its own; all of it if there is nothing else."""
    begin = 0
    while found := _PUT_BEFORE.match(text, begin):
        begin = found.end()
    return text[begin:] or text


def many(count: int, noun: str) -> str:
    """`1 session`, `2 sessions`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def numbered(noun: str, numbers: str) -> str:
    """`round 4`, `rounds 3-9, 12`; nothing where there are none."""
    return numbers and f"{noun}{'' if numbers.isdecimal() else 's'} {numbers}"
