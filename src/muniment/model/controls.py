"""Characters that steer a terminal, turn words around or cannot be seen, and what is shown in their place.

This is their only list: the command line, packs, answers to agents and pages all go by it. Joiners stay where scripts
and emoji need them.
"""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
    "|(?<![\u0600-\U0003ffff])[\u200c\u200d]|[\u200c\u200d](?![\u0600-\U0003ffff])"
)
"""Controls, bidirectional marks, characters without width or ink, tags, and halves of characters."""


def plain(text: str) -> str:
    """Return the text with a sign for every character that cannot be seen; newlines and tabs stay."""
    return _HIDDEN.sub(_sign, text)


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 32:
        return chr(0x2400 + code)
    return "\ufffd" if 0xD800 <= code < 0xE000 else f"‹U+{code:04X}›"


def escape_json(data: bytes) -> bytes:
    """Return JSON of the same value in which these characters are written as escapes: it can be printed anywhere."""
    if data.isascii() and b"\x7f" not in data:
        return data  # the rest of ASCII that steers is never written as it is in JSON
    return _HIDDEN.sub(_escape, data.decode("utf-8", "replace")).encode()


def _escape(match: re.Match[str]) -> str:
    """In JSON that a program wrote, such a character can only stand inside a string."""
    pairs = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{pairs[at : at + 4]}" for at in range(0, len(pairs), 4))
