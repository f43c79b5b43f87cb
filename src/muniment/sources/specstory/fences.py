"""Fences of code in a history: where one ends, and which of them reach into another turn."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from msgspec import Struct

_FENCE = re.compile(rb"[ ]{0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)")


class Fence(Struct, frozen=True):
    """A line at which a fence begins or ends."""

    turn: int
    """Where the turn begins that it stands in."""
    mark: bytes
    info: bytes
    end: int


def fence_at(text: bytes, at: int) -> re.Match[bytes] | None:
    """The mark of a fence at the beginning of a line, and what is said behind it."""
    fence = _FENCE.match(text, at)
    return None if fence and fence["mark"][0] == ord("`") and b"`" in fence["info"] else fence


def reaches(fences: Iterable[Fence]) -> dict[int, int]:
    """By turns that leave a fence open which a later turn closes: the end of the line that does.

    Models leave fences open, and a turn may be stopped within one. So a fence reaches over a label only if a later
    turn ends it with a line that this turn by itself would have no use for."""
    found: dict[int, int] = {}
    opened, since = list[bytes](), 0
    for turn, own in groupby(fences, lambda fence: fence.turn):
        marks = list(own)
        left, _ = _left_open(marks, [])
        if not left:
            continue
        still, closed = _left_open(marks, opened)
        if closed and opened and not still:
            found[since], opened = closed, []
        else:
            opened, since = left, turn
    return found


def _left_open(fences: list[Fence], before: list[bytes]) -> tuple[list[bytes], int]:
    """The fences that are open at the end of a turn, and where those of the turns before it are all closed.

    Models put a fence with a language into another of the same length."""
    opened, closed = list(before), 0
    for fence in fences:
        if fence.info.strip() or not opened:
            opened.append(fence.mark)
        elif fence.mark.startswith(opened[-1]):
            opened.pop()
            closed = closed or (0 if opened else fence.end)
    return opened, closed


class Fences:
    """The fences of a text, asked for in the order in which they stand there."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.unclosed: dict[int, int] = {}
        """By mark, the shortest fence that is known to have no end: longer ones have none either."""
        self._closings: dict[bytes, tuple[int, int]] = {}
        """By mark, where an end was last looked for, and behind which line it was found."""
        self._bare: dict[bytes, int] = {}

    def end(self, at: int, end: int) -> int:
        """Behind a fence that begins at a line and is closed; else the end of that line."""
        fence = fence_at(self.text, at)
        if not fence:
            return end
        mark = fence["mark"]
        if len(mark) >= self.unclosed.get(mark[0], len(mark) + 1):
            return end
        if behind := self._closing_end(mark, self.line_end(at)):
            return behind
        self.unclosed[mark[0]] = len(mark)
        return end

    def bare(self, mark: bytes, at: int) -> int:
        """The newline before the next line that is a mark and nothing else; the end of the text if there is none."""
        if (known := self._bare.get(mark, -1)) < at:
            found = self.text.find(b"\n%b\n" % mark, at)
            known = self._bare[mark] = found if found >= 0 else len(self.text)
        return known

    def line_end(self, at: int) -> int:
        """Behind the line that goes on here."""
        return self.text.find(b"\n", at) + 1 or len(self.text)

    def _closing_end(self, mark: bytes, at: int) -> int:
        """Behind the next line that is nothing but a mark, or a longer one; none if there is no such line."""
        since, known = self._closings.get(mark, (0, 0))
        if since <= at < known:
            return known
        since = at
        while (found := self.text.find(mark, at)) >= 0:
            begun, at = self.text.rfind(b"\n", at, found) + 1 or at, self.line_end(found)
            if not self.text[begun:at].strip().strip(mark[:1]):
                self._closings[mark] = since, at
                return at
        return 0
