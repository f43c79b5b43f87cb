"""RE2 behind a typed door. It works on bytes, takes time linear in their number, and knows no look-around."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import re2 as untyped  # pyright: ignore[reportMissingTypeStubs]

re2: Any = untyped

Span = tuple[int, int]
MEMORY = 64 << 20
"""Bytes a pattern may use; all rules in one need more than the usual eight million."""


class Pattern:
    """One compiled pattern. Without groups RE2 needs its automaton alone, which is what makes a long search fast."""

    def __init__(self, text: str, longest: bool = False, groups: bool = True) -> None:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1  # any bytes, one sign each
        options.longest_match = longest
        options.never_capture = not groups
        options.max_mem = MEMORY
        self._pattern = re2.compile(text.encode("ascii"), options)

    def search(self, data: bytes, start: int) -> Span | None:
        """The first match at or behind `start`."""
        found = self._pattern.search(data, start)
        return found.span() if found else None

    def every(self, data: bytes) -> Iterator[Span]:
        """All matches, one behind the other."""
        return (found.span() for found in self._pattern.finditer(data))

    def match(self, data: bytes, start: int, end: int | None = None) -> tuple[Span, Span] | None:
        """The match that begins at `start` and is over by `end`, and its group; without one, the match again."""
        found = self._pattern.match(data, start, end)
        if not found:
            return None
        groups = (found.span(number) for number in range(1, self._pattern.groups + 1))
        return found.span(), next((span for span in groups if span[0] >= 0), found.span())
