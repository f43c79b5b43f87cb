"""Private keys in listings of any kind, whatever a program wrote before and behind each line of them.

The rule of private keys knows what `cat -n`, `grep` and `diff` write. Logs, boxes, `git blame` and paths of Windows are
without number; here the line with `BEGIN` or `END` shows what stands before every line of this listing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from muniment.secrets.rule import Finding
from muniment.secrets.rules.keys import KEYS, MARK, is_key

LONGEST_KEY = 1 << 16
LONGEST_PREFIX = 200
FEWEST_SIGNS = 40
"""Signs of the shortest key: those of the curves have sixty-four."""
LEAST_SHARE = 0.3
"""How much of a listing is the key itself: prose between the two marks has no such words."""

_RULE = KEYS[0]
_MARK = re.compile(MARK.encode("ascii"))
_SIGNS = re.compile(rb"[A-Za-z0-9+/=]{16,}")
_NUMBERS = re.compile(rb"[0-9]+")
_SPACES = re.compile(rb"\s+")
_PIECES = re.compile(rb"[0-9]+| +|[^0-9 ]+")
_LINE = re.compile(
    rb"([A-Za-z0-9+/]{16,}={0,2}|[A-Za-z-]+: [^\n]*|=?[A-Za-z0-9+/]{1,15}={0,2}(?=[^A-Za-z0-9+/=\n]*$)|)"
    rb"[^A-Za-z0-9+/=\n]{0,12}$"
)
"""A line of a key, or one of its headers, and what may stand behind it."""


def find(data: bytes) -> Iterator[Finding]:
    """Yield the private keys of a text that have their first line or their last."""
    if b"PRIVATE" not in data:
        return
    marks = list(_MARK.finditer(data))
    ends = {end.start() for begin, end in pairwise(marks) if _is_pair(data, begin, end)}
    for number, mark in enumerate(marks):
        following = marks[number + 1] if number + 1 < len(marks) else None
        if following and following.start() in ends and mark[1] == b"BEGIN":
            yield Finding(_RULE, mark.start(), following.end())
        elif mark[1] == b"BEGIN":
            yield from _find_below(data, mark, following.start() if following else len(data))
        elif mark.start() not in ends:
            yield from _find_above(data, mark, marks[number - 1].end() if number else 0)


def _is_pair(data: bytes, begin: re.Match[bytes], end: re.Match[bytes]) -> bool:
    """Whether a key lies between two marks."""
    size = end.start() - begin.end()
    if (begin[1], end[1]) != (b"BEGIN", b"END") or size > LONGEST_KEY:
        return False
    signs = b"".join(_SIGNS.findall(data, begin.end(), end.start()))
    return len(signs) >= max(FEWEST_SIGNS, LEAST_SHARE * size) and is_key(signs.decode("ascii"), "")


def _find_below(data: bytes, mark: re.Match[bytes], limit: int) -> Iterator[Finding]:
    """Yield what of a key follows its first line; the listing ended before the last."""
    end = data.find(b"\n", mark.end(), limit)
    region = data[end + 1 : min(limit, end + LONGEST_KEY)] if end >= 0 else b""
    size = _measure(data, mark, region.splitlines(keepends=True)) if len(region) >= FEWEST_SIGNS else 0
    if size:
        yield Finding(_RULE, mark.start(), end + 1 + size)


def _find_above(data: bytes, mark: re.Match[bytes], limit: int) -> Iterator[Finding]:
    """Yield what of a key stands above its last line; the listing began behind the first."""
    end = data.rfind(b"\n", limit, mark.start()) + 1
    region = data[max(limit, end - LONGEST_KEY) : end]
    size = _measure(data, mark, reversed(region.splitlines(keepends=True))) if len(region) >= FEWEST_SIGNS else 0
    if size:
        yield Finding(_RULE, end - size, mark.end())


def _measure(data: bytes, mark: re.Match[bytes], lines: Iterable[bytes]) -> int:
    """Return the bytes of the lines that belong to the key; none if no line has enough signs."""
    prefix = _split_prefix(data, mark)
    size = signs = 0
    for line in lines:
        text = line.rstrip(b"\r\n")
        at = _find_body(prefix, text)
        found = _LINE.match(text, at) if at is not None else None
        if not found:
            break
        size += len(line)
        signs += len(found[1])
    return size if signs >= FEWEST_SIGNS else 0


def _split_prefix(data: bytes, mark: re.Match[bytes]) -> list[bytes]:
    """Return what stands before a mark on its line: numbers, spaces and the rest of it, in order."""
    start = data.rfind(b"\n", max(0, mark.start() - LONGEST_PREFIX), mark.start()) + 1
    return _PIECES.findall(data, max(start, mark.start() - LONGEST_PREFIX), mark.start())


def _find_body(prefix: list[bytes], line: bytes) -> int | None:
    """Return where the prefix of a listing ends on a line, with any numbers and spaces; None if it is not there.

    No pattern is made of the prefix: a text may have another before every mark, and each would cost a compilation."""
    at = 0
    for piece in prefix:
        alike = _NUMBERS if piece.isdigit() else _SPACES if piece.startswith(b" ") else None
        found = alike.match(line, at) if alike else None
        if found:
            at = found.end()
        elif alike is None and line.startswith(piece, at):
            at += len(piece)
        else:
            return None
    return at
