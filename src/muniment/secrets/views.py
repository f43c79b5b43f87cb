"""Other readings of a text: what it says once its colours, escapes and line breaks are gone.

A secret may be coloured by `grep`, stand in JSON that stands in JSON, or be broken over two lines. Each step here takes
one kind of noise out. A step is one substitution at the speed of C; where a place of the reading lies in the text is
worked out only when something was found there, which is seldom.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

Step = tuple[re.Pattern[bytes], bytes]
Place = Callable[[int, int], tuple[int, int]]
"""Where in the text a span of the reading lies."""

_SLASHES = rb"\\(?<!\\\\)\\*+"
"""A whole run of backslashes, tried once and not from each of its signs. It begins with the sign itself, for which `re`
looks much faster than for a place behind something."""
_COLOUR = re.compile(rb"[\x1b\\](?:(?<=\x1b)|(?<!\\\\)\\*+(?:u001[bB]|x1[bB]|033|e))\[[0-9;?]{0,16}[A-Za-z]")
_CARET_COLOUR = re.compile(rb"\^\[\[[0-9;?]{0,16}[A-Za-z]")
_ENTITIES: tuple[Step, ...] = tuple(
    (re.compile(rb"&" + name + rb";"), instead)
    for name, instead in (
        (rb"(?:quot|\#34)", b'"'),
        (rb"(?:apos|\#0?39)", b"'"),
        (rb"(?:\#10|\#x[aA])", b"\n"),
        (rb"lt", b"<"),
        (rb"gt", b">"),
        (rb"amp", b"&"),
    )
)
_BREAK = re.compile(rb"<br ?/?>\n?")
_FRAME = re.compile(rb"(?:[ \t]*\xe2\x94[\x82\x83][ \t]*)?\r?\n[ \t]*\xe2\x94[\x82\x83] ?")
"""The lines of a box around a text."""
_RULER = re.compile(rb"\\{16,}")
"""More backslashes than any nesting needs."""
_CONTINUATION = re.compile(rb"\\(?:\r?\n[ \t]*+|(?<!\\\\)\\\\(?:\\{3})?n[ \t]*+)")
_ESCAPES: tuple[Step, ...] = tuple(
    (re.compile(_SLASHES + follows), instead)
    for follows, instead in (
        (rb"(?:r\\++)?n", b"\n"),
        (rb"t", b"\t"),
        (rb"(?=[\"'/`])", b""),
        (rb"u000[aA]", b"\n"),
        (rb"u2192", b"\xe2\x86\x92"),
        (rb"u2502", b"\xe2\x94\x82"),
        (rb"u003[dD]", b"="),
        (rb"u0026", b"&"),
        (rb"u002[bB]", b"+"),
        (rb"u002[fF]", b"/"),
        (rb"u0022", b'"'),
        (rb"u0027", b"'"),
        (rb"u003[cC]", b"<"),
        (rb"u003[eE]", b">"),
    )
)
_TOKEN = rb"[A-Za-z0-9+/=_.~%!#^@$&*-]"
_QUOTED_JOINT = re.compile(rb"[\"'][ \t]*[+.&\\]?[ \t]*\r?\n[ \t]*[+.&]?[ \t]*[rbfu]?[\"']")
_WRAPPED = re.compile(rb"\n(?<=[^\n]{60}" + _TOKEN + rb"\n)(?![-*+#>=] )(?=" + _TOKEN + rb")")
"""A line that was broken at a fixed column, in the midst of a word. Shorter lines end where their writer ended them."""


class View(NamedTuple):
    """One reading of a text."""

    data: bytes
    place: Place
    joints: bool = False
    """Lines were joined: only what lies across a joint is new, and anything else may be two things in one."""


def read(data: bytes) -> Iterator[View]:
    """The readings that differ from the text."""
    plain = _with(data, _noise(data))
    if plain:
        yield plain
    start = plain or View(data, _same)
    for joint in (_QUOTED_JOINT, _WRAPPED):
        if b"\n" in start.data and (joined := _with(start.data, [(joint, b"")])):
            yield View(joined.data, _through(joined.place, start.place), joints=True)


def _noise(data: bytes) -> Iterator[Step]:
    if b"\x1b" in data or b"\\" in data:
        yield _COLOUR, b""
    if b"\\" in data:
        yield _RULER, b""
        yield _CONTINUATION, b""
        yield from (step for step in _ESCAPES if b"\\u" in data or b"u" not in step[0].pattern)
    if b"^[[" in data:
        yield _CARET_COLOUR, b""
    if b"&" in data and b";" in data:
        yield from _ENTITIES
    if b"<br" in data:
        yield _BREAK, b"\n"
    if b"\n\xe2\x94" in data or b"\xe2\x94\x82\n" in data:
        yield _FRAME, b"\n"


def _with(data: bytes, steps: Iterator[Step] | list[Step]) -> View | None:
    """The data after all steps; None if they change nothing."""
    view: View | None = None
    for pattern, instead in steps:
        before = view.data if view else data
        after, count = pattern.subn(instead, before)
        if count:
            place = _place(before, pattern, len(instead))
            view = View(after, _through(place, view.place) if view else place)
    return view


def _same(start: int, end: int) -> tuple[int, int]:
    return start, end


def _through(inner: Place, outer: Place) -> Place:
    return lambda start, end: outer(*inner(start, end))


def _place(before: bytes, pattern: re.Pattern[bytes], width: int) -> Place:
    """The way back through one substitution, worked out at its first use."""
    starts: list[int] = []
    shifts: list[int] = [0]

    def shifted(at: int) -> int:
        return at + shifts[bisect_right(starts, at)]

    def place(start: int, end: int) -> tuple[int, int]:
        if not starts:
            for found in pattern.finditer(before):
                starts.append(found.start() - shifts[-1] + width)
                shifts.append(found.end() - starts[-1])
        return shifted(start), shifted(end - 1) + 1

    return place
