"""Names of code in a text, and the words that they are made of: `checkToken`, `HTTPServer`."""

from __future__ import annotations

import re

from muniment.store.scan import humped

_PART = re.compile(rb"(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+)[0-9]*")
_MAX_NAME = 64
"""A longer run of letters is encoded data, not a name."""
_MAX_NAMES = 1 << 16

SHAPES = bytes(97 if 97 <= c <= 122 or 48 <= c <= 57 else 65 if 65 <= c <= 90 else 32 for c in range(256))
"""Letters as their case, digits as small ones, the rest as spaces: a name with a hump is found by plain search."""


def parts_in(data: bytes) -> set[str]:
    """The words of all names in a text."""
    parts: set[str] = set()
    if names := humped(data, SHAPES, _MAX_NAME):
        parts.update(*map(_PARTS.__getitem__, names))
    return parts


class _PartsOfNames(dict[bytes, tuple[str, ...]]):
    """The words of names, with and without their numbers; the same few thousand names make up most of a session."""

    def __missing__(self, name: bytes) -> tuple[str, ...]:
        if len(self) >= _MAX_NAMES:
            self.clear()
        parts = [part.decode("ascii") for part in _PART.findall(name)]
        self[name] = tuple(dict.fromkeys([*parts, *(part.rstrip("0123456789") for part in parts)]))
        return self[name]


_PARTS = _PartsOfNames()
