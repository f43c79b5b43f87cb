"""Readings of what is written in a code: base64, hexadecimal digits, and addresses with their signs as `%2F`.

All pieces that look so are decoded into one text, which is searched once. Base64 has to decode to plain text; pictures,
programs and hashes do not. It may be broken into lines. One layer is removed at a time.
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate

from muniment.secrets.pattern import Pattern, Span
from muniment.secrets.views import View

_APART = b"\n\x00\n"
"""Between two pieces: no secret reaches over it."""
_FEWEST = 6
"""Groups of four signs that must be text: as much as holds the shortest secret worth finding, eighteen bytes."""
_FEWEST_DIGITS = 48
_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PREFIX = r"[ \t]*(?:[\w./@~-]{1,200}:)?(?:[0-9]{1,7}(?:\t|:|\xe2\x86\x92))?[ \t>|\"'#-]{0,8}"
"""What a listing writes before a line."""
_LINE = re.compile(rb"(?:\n" + _PREFIX.encode("ascii") + rb"|\A|[^A-Za-z0-9+/])([A-Za-z0-9+/]+)")
_MARK = re.compile(rb"%(?=[0-9A-Fa-f]{2})")
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")

_DIGITS = re.compile(
    rb"(?m)^(?:[0-9a-f]{7,8}:? {1,2})((?:[0-9A-Fa-f]{2} {0,2}){1,16})|(?<![0-9A-Za-z])([0-9A-Fa-f]{48,})"
)

Places = Callable[[int, int], Span]
Piece = tuple[int, bytes, Places]
"""Where a piece begins in the text, what it says, and where in the piece a span of that lies."""


def read(data: bytes) -> Iterator[View]:
    """What the pieces in base64 say, those in hexadecimal digits, and the addresses."""
    for pieces in (_in_base64, _in_hex, _in_addresses):
        if found := list(pieces(data)):
            yield _view(found)


def _view(pieces: list[Piece]) -> View:
    starts: list[int] = []
    size = 0
    for _, said, _ in pieces:
        starts.append(size)
        size += len(said) + len(_APART)

    def place(start: int, end: int) -> Span:
        number = bisect_right(starts, start) - 1
        offset, said, places = pieces[number]
        # A pattern may have taken a sign of what stands between the pieces.
        first, last = places(min(start - starts[number], len(said) - 1), min(len(said), end - starts[number]))
        return offset + first, offset + last

    return View(_APART.join(said for _, said, _ in pieces), place)


def _in_base64(data: bytes) -> Iterator[Piece]:
    if len(data) < 4 * _FEWEST:
        return
    for start, end in _base64().every(data):
        lines = list(_lines(data, start, end))
        signs = b"".join(data[first:last] for first, last in lines)
        whole = signs[:-1] if len(signs) % 4 == 1 else signs
        said = base64.b64decode(whole + b"=" * (-len(whole) % 4))
        yield 0, said, _among_lines(lines)


def _lines(data: bytes, start: int, end: int) -> Iterator[Span]:
    """Where the signs of each line lie. A line that begins with one `+` too many was added in a diff."""
    for line in _LINE.finditer(data, start, end):
        first, last = line.span(1)
        padding = data[last : last + 2].count(b"=")
        is_added = (last + padding - first) % 4 == 1 and data[first] == ord("+")
        yield first + is_added, last


def _among_lines(lines: list[Span]) -> Places:
    """Where the groups of signs for some bytes lie, line breaks counted."""
    counts = list(accumulate((last - first for first, last in lines), initial=0))

    def place(sign: int) -> int:
        number = min(bisect_right(counts, sign), len(lines)) - 1
        return min(lines[number][0] + sign - counts[number], lines[-1][1] - 1)

    return lambda first, last: (place(first // 3 * 4), place(-(-last // 3) * 4 - 1) + 1)


def _in_hex(data: bytes) -> Iterator[Piece]:
    """Text as hexadecimal digits, in one word or in the lines of `xxd` and `hexdump -C`."""
    if len(data) < _FEWEST_DIGITS:
        return
    for start, end in _hex().every(data):
        digits = [found.span(found.lastindex or 0) for found in _DIGITS.finditer(data, start, end)]
        said = b"".join(data[first:last].replace(b" ", b"") for first, last in digits)
        # A whole line goes: what stands beside its digits says the same in letters.
        yield 0, bytes.fromhex(said[: len(said) // 2 * 2].decode("ascii")), _among_digits(data, digits, end)


def _among_digits(data: bytes, digits: list[Span], end: int) -> Places:
    counts = list(
        accumulate(((last - first - data.count(b" ", first, last)) // 2 for first, last in digits), initial=0)
    )

    def places(first: int, last: int) -> Span:
        begin = min(bisect_right(counts, first), len(digits)) - 1
        final = min(bisect_right(counts, last - 1), len(digits)) - 1
        if len(digits) == 1:
            return digits[0][0] + 2 * first, digits[0][0] + 2 * last
        return digits[begin][0], digits[final + 1][0] if final + 1 < len(digits) else end

    return places


def _in_addresses(data: bytes) -> Iterator[Piece]:
    if b"%" not in data:
        return
    for start, end in _address().every(data):
        piece = data[start:end]
        yield start, _unescaped(piece), _among_escapes(piece)


def _unescaped(piece: bytes) -> bytes:
    """Quoted-printable is the same code with another sign, and is read at the speed of C. A `%` that escapes nothing
    stays as it is."""
    return binascii.a2b_qp(_MARK.sub(b"=", piece.replace(b"=", b"=3D")))


def _among_escapes(piece: bytes) -> Places:
    """Where decoded bytes lie; the escapes are counted at the first use, which is seldom."""
    ends: list[int] = []

    def place(byte: int) -> int:
        return byte + 2 * bisect_right(ends, byte)

    def places(first: int, last: int) -> Span:
        if not ends:
            ends.extend(escape.start() - 2 * number + 1 for number, escape in enumerate(_ESCAPE.finditer(piece)))
        return place(first), place(last)

    return places


@cache
def _base64() -> Pattern:
    """Text in base64, by the signs that bytes below 128 leave: in a group of four, each has half of them or fewer."""
    first = "[CDI-Za-f]"
    second = "[" + "".join(re.escape(sign) for at, sign in enumerate(_SIGNS) if not at & 8) + "]"
    third = "[" + "".join(re.escape(sign) for at, sign in enumerate(_SIGNS) if not at & 2) + "]"
    text = f"(?:{first}{second}{third}[A-Za-z0-9+/])"
    line = r"[A-Za-z0-9+/]{16,}"
    more = rf"(?:[\"']?\r?\n{_PREFIX}{line})*(?:[\"']?\r?\n{_PREFIX}[A-Za-z0-9+/]{{2,15}}={{0,2}})?"
    return Pattern(rf"(?:\A|[^A-Za-z0-9+/])\+?{text}{{{_FEWEST},}}[A-Za-z0-9+/]*{more}={{0,2}}", groups=False)


@cache
def _hex() -> Pattern:
    """Bytes that are text: from the space to the tilde, and ends of lines."""
    byte = "(?:[2-7][0-9A-Fa-f]|0[9AaDd])"
    line = rf"[0-9a-f]{{7,8}}:?[ ]{{1,2}}(?:{byte}[ ]{{0,2}}){{1,16}}(?:  ?[^\n]{{0,18}})?(?:\n|\z)"
    return Pattern(rf"(?:\A|[^0-9A-Za-z]){byte}{{{_FEWEST_DIGITS // 2},}}|(?m:^){line}{line}(?:{line})+", groups=False)


@cache
def _address() -> Pattern:
    return Pattern(r"""[^\s"'`<>\\]*%[0-9A-Fa-f]{2}[^\s"'`<>\\]*""", groups=False)
