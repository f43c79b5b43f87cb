"""Words that a plain tokenizer misses: parts of camelCase names, pairs of Chinese, Japanese or Korean signs, and what
is glued to such signs.

SQLite's `unicode61` splits `snake_case` and paths by itself. What it cannot see goes into a second column.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PART = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_GLUED = re.compile(rf"[^\W_]*{_CJK.pattern}[^\W_]*")
"""A run of letters with such signs in it: the tokenizer takes it for one word, `用React写` too."""
_NO_CJK = bytes(c for c in range(256) if not (0xE3 <= c <= 0xED or c == 0xEF))
"""Bytes that begin no such sign: what is left of a text without them tells whether to look at all."""
_MAX_WORD = 64
"""A longer run of letters is encoded data, not a name."""

_SHAPE = bytes(97 if 97 <= c <= 122 or 48 <= c <= 57 else 65 if 65 <= c <= 90 else 32 for c in range(256))
"""Letters as their case, digits as small ones, the rest as spaces: a name with a hump is found by plain search."""
_HUMPS = (b"aA", b"AAa")
"""Where a new word begins inside a name: `checkToken`, `HTTPServer`."""


def hidden_words(data: bytes) -> str:
    """The words of a text that the tokenizer would not find, each once."""
    found: set[str] = set()
    for name in _humped(data):
        found.update(_parts(name))
    if not data.isascii() and data.translate(None, _NO_CJK):
        for word in _GLUED.findall(data.decode()):
            for run in _CJK.findall(word):
                found.update(pairs(run))
            found.update(_CJK.sub(" ", word).split())
    return " ".join(sorted(found))


def east_asian(text: str) -> list[str]:
    """The runs of signs that are written without spaces between words."""
    return _CJK.findall(text)


@lru_cache(maxsize=1 << 16)
def _parts(name: bytes) -> tuple[str, ...]:
    """The words of a name; the same few thousand names make up most of a session."""
    return tuple(part.decode("ascii") for part in _PART.findall(name))


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
