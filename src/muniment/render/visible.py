"""Text as a person can trust it: what would hide or turn words around is shown as a sign, and long text is cut in the
middle, with how much is missing.

Colours of a terminal are left out, which also shows what was printed as concealed. Joiners stay where scripts and
emoji need them.
"""

from __future__ import annotations

import re

_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_NEWLINES = re.compile(r"\r\n?")
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
    "|(?<![\u0600-\U0003ffff])[\u200c\u200d]|[\u200c\u200d](?![\u0600-\U0003ffff])"
)
"""Controls, bidirectional marks, characters without width or ink, tags, and halves of characters."""


def visible(text: str) -> str:
    """The text with a sign for every character that cannot be seen; newlines and tabs stay."""
    text = _NEWLINES.sub("\n", _COLOURS.sub("", text))
    return _HIDDEN.sub(_sign, text)


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 32:
        return chr(0x2400 + code)
    return "\ufffd" if 0xD800 <= code < 0xE000 else f"‹U+{code:04X}›"


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
