"""What a plain tokenizer misses: parts of camelCase names, Chinese, Japanese and Korean words, and letters that are
glued to such signs or to icons.

SQLite's `unicode61` splits `snake_case` and paths by itself, and takes a run of letters for one word, `用React写` too.
So signs and letters are parted before it sees them, and the words that it cannot tell go into a second column.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PART = re.compile(rb"(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+)[0-9]*")
_SIGNS = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
_ICONS = "\u2066-\u2069\u23f4-\u23ff\u2b80-\u2bff\ue000-\uf8ff\U0001f000-\U0001fbff\U000e0000-\U0010fffd"
"""Pictures that are letters to the tokenizer: those of terminal fonts, and those younger than its tables."""
_CJK = re.compile(f"[{_SIGNS}]+")
_ICON = re.compile(f"[{_ICONS}]")
_OTHERS = bytes(c for c in range(256) if not (0xE3 <= c <= 0xF0 or 0xF3 <= c <= 0xF4))
"""Bytes that begin no such sign, most icons included: what is left of a text without them tells whether to look."""
_RARE = (b"\xe2\x8f", b"\xe2\xae", b"\xe2\xaf", b"\xe2\x81\xa6")
"""How the others begin; the first byte is also that of dashes, quotes and frames, which are in every text."""
_MAX_WORD = 64
"""A longer run of letters is encoded data, not a name."""

_SHAPE = bytes(97 if 97 <= c <= 122 or 48 <= c <= 57 else 65 if 65 <= c <= 90 else 32 for c in range(256))
"""Letters as their case, digits as small ones, the rest as spaces: a name with a hump is found by plain search."""
_HUMPS = (b"aA", b"AAa")
"""Where a new word begins inside a name: `checkToken`, `HTTPServer`."""


def indexed(data: bytes) -> tuple[bytes, str]:
    """A text as the tokenizer should see it, and the words that it would still not find.

    What is seen has no icons, and signs apart from letters. What is hidden: parts of names, and signs by pairs, each
    once; the last sign of a run stands there too, so that every sign begins a word and can be found alone.
    """
    hidden: set[str] = set()
    for name in _humped(data):
        hidden.update(_parts(name))
    if not _has_signs(data):
        return data, " ".join(sorted(hidden))
    text = data.decode()
    for run in _CJK.findall(text):
        hidden.update(pairs(run))
        hidden.add(run[-1])
    return _CJK.sub(r" \g<0> ", _ICON.sub(" ", text)).encode(), " ".join(sorted(hidden))


def parted(data: bytes) -> bytes:
    """A text as the tokenizer should see it."""
    return indexed(data)[0]


def hidden_words(data: bytes) -> str:
    """The words of a text that the tokenizer would not find."""
    return indexed(data)[1]


def _has_signs(data: bytes) -> bool:
    """Whether to look for signs and icons at all; hardly any text has one."""
    return not data.isascii() and (bool(data.translate(None, _OTHERS)) or any(rare in data for rare in _RARE))


def east_asian(text: str) -> list[str]:
    """The runs of signs that are written without spaces between words."""
    return _CJK.findall(text)


@lru_cache(maxsize=1 << 16)
def _parts(name: bytes) -> tuple[str, ...]:
    """The words of a name, with and without their numbers; the same few thousand names make up most of a session."""
    parts = [part.decode("ascii") for part in _PART.findall(name)]
    return tuple(dict.fromkeys([*parts, *(part.rstrip("0123456789") for part in parts)]))


def _humped(data: bytes) -> set[bytes]:
    """Names in which a capital follows a small letter. A search per hump is far faster than a pattern per word."""
    shape = data.translate(_SHAPE)
    names: set[bytes] = set()
    for hump in _HUMPS:
        at = shape.find(hump)
        while at >= 0:
            start = shape.rfind(b" ", 0, at) + 1
            end = shape.find(b" ", at)
            end = len(shape) if end < 0 else end
            if end - start <= _MAX_WORD:
                names.add(data[start:end])
            at = shape.find(hump, end)
    return names


def pairs(run: str) -> list[str]:
    """Overlapping pairs of a run of signs; a single sign stands for itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] if len(run) > 1 else [run]
