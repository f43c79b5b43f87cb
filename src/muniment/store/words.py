"""What a plain tokenizer misses: parts of camelCase names, Chinese, Japanese and Korean words, and letters that are
glued to such signs or to icons.

SQLite's `unicode61` splits `snake_case` and paths by itself, and takes a run of letters for one word, `用React写` too.
So signs and letters are parted before it sees them, and the words that it cannot tell go into a second column.
"""

from __future__ import annotations

import re

_PART = re.compile(rb"(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+)[0-9]*")
_SIGNS = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
_ICONS = "\u2066-\u2069\u23f4-\u23ff\u2b80-\u2bff\ue000-\uf8ff\U0001f000-\U0001fbff\U000e0000-\U0010fffd"
"""Pictures that are letters to the tokenizer: those of terminal fonts, and those younger than its tables."""
_CJK = re.compile(f"[{_SIGNS}]+")
_ICON = re.compile(f"[{_ICONS}]")
_ASCII = bytes(range(128))
_MAX_WORD = 64
"""A longer run of letters is encoded data, not a name."""
_MAX_NAMES = 1 << 16

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
    if names := _humped(data):
        hidden.update(*map(_PARTS.__getitem__, names))
    if not data.isascii():
        data = _part_signs(data, hidden)
    return data, " ".join(sorted(hidden)) if hidden else ""


def _part_signs(data: bytes, hidden: set[str]) -> bytes:
    """A text without icons, its signs apart from letters; the pairs of signs are added to what is hidden."""
    foreign = data.translate(None, _ASCII).decode()  # short, so that it is cheap to look at
    if _ICON.search(foreign):
        data = _ICON.sub(" ", data.decode()).encode()
    if _CJK.search(foreign):
        text = data.decode()
        hidden.update(word for run in _CJK.findall(text) for word in (*pairs(run), run[-1]))
        data = _CJK.sub(r" \g<0> ", text).encode()
    return data


def parted(data: bytes) -> bytes:
    """A text as the tokenizer should see it."""
    return indexed(data)[0]


def hidden_words(data: bytes) -> str:
    """The words of a text that the tokenizer would not find."""
    return indexed(data)[1]


def east_asian(text: str) -> list[str]:
    """The runs of signs that are written without spaces between words."""
    return _CJK.findall(text)


class _PartsOfNames(dict[bytes, tuple[str, ...]]):
    """The words of names, with and without their numbers; the same few thousand names make up most of a session."""

    def __missing__(self, name: bytes) -> tuple[str, ...]:
        if len(self) >= _MAX_NAMES:
            self.clear()
        parts = [part.decode("ascii") for part in _PART.findall(name)]
        self[name] = tuple(dict.fromkeys([*parts, *(part.rstrip("0123456789") for part in parts)]))
        return self[name]


_PARTS = _PartsOfNames()


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
