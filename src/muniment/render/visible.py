"""Text as a person can trust it: what would hide or turn words around is shown as a sign, and long text is cut in the
middle, with how much is missing.

Colours of a terminal are left out, which also shows what was printed as concealed.
"""

from __future__ import annotations

import re

from muniment.model.controls import plain

_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_NEWLINES = re.compile(r"\r\n?")


def visible(text: str) -> str:
    """The text with a sign for every character that cannot be seen; newlines and tabs stay."""
    return plain(_NEWLINES.sub("\n", _COLOURS.sub("", text)))


def one_line(text: str, limit: int = 160) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(visible(text[: limit * 4]).split())
    return line if len(line) <= limit and len(text) <= limit * 4 else line[: limit - 1].rstrip() + "…"


def clip(text: str, limit: int) -> tuple[str, int]:
    """The text, or its beginning and end, and how many characters are missing."""
    if len(text) <= limit:
        return text, 0
    head, tail = limit * 2 // 3, limit // 3
    cut = len(text) - head - tail
    return f"{text[:head]}\n\n[… {cut:,} characters not shown …]\n\n{text[-tail:]}", cut
