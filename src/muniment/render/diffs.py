"""Edits as lines with a sign in front, in a bounded time: an edit is compared line by line only if that is cheap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from muniment.render.shown import Line
from muniment.render.visible import visible

CONTEXT = 3
MAX_COMPARED = 500
"""Lines on either side that differ; comparing takes the product of both."""

Op = Literal[" ", "-", "+", "@"]


def diff(old: str, new: str) -> list[Line]:
    """What became of a text, with a few lines around each change."""
    before, after = _lines(old), _lines(new)
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    made: list[Line] = [*_marked(" ", before[max(0, head - CONTEXT) : head])]
    made += _compared(before[head : len(before) - tail], after[head : len(after) - tail])
    return [*made, *_marked(" ", before[len(before) - tail :][:CONTEXT])]


def patch(text: str) -> list[Line]:
    """A patch as it was written."""
    return [_patched(line) for line in _lines(text)]


def heading(text: str) -> Line:
    return Line("@", text)


def _patched(line: str) -> Line:
    if line.startswith(("***", "@@", "diff ", "---", "+++")):
        return Line("@", line)
    if line[:1] == "-":
        return Line("-", line[1:])
    if line[:1] == "+":
        return Line("+", line[1:])
    return Line(" ", line[1:] if line[:1] == " " else line)


def _lines(text: str) -> list[str]:
    lines = visible(text).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count


def _compared(before: list[str], after: list[str]) -> Iterator[Line]:
    if not before or not after or max(len(before), len(after)) > MAX_COMPARED:
        yield from _marked("-", before)
        yield from _marked("+", after)
        return
    for number, group in enumerate(SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT)):
        if number:
            yield Line("@", "…")
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from _marked(" ", before[a:b])
            else:
                yield from _marked("-", before[a:b])
                yield from _marked("+", after[c:d])


def _marked(op: Op, lines: Sequence[str]) -> Iterator[Line]:
    return (Line(op, line) for line in lines)
