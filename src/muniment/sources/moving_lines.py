"""The lines of an original file with something changed in each: what `moved` of most sources does.

A line that is too long to be parsed passes as it is, in pieces: nothing of a file may be lost because it is moved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator

from muniment.sources.lines import MAX_LINE_BYTES

Change = Callable[[bytes], bytes]
Swap = tuple[re.Pattern[bytes], bytes]
"""What is looked for, its first group to be kept, and what stands behind that instead of the rest."""


def changed(pieces: Iterable[bytes], change: Change) -> Iterator[bytes]:
    """The same bytes but for what is changed; a last line without its newline stays without."""
    rest, passing = b"", False
    for piece in pieces:
        *lines, end = piece.split(b"\n")
        for line in lines:
            yield (rest + line if passing else change(rest + line)) + b"\n"
            rest, passing = b"", False
        rest += end
        if len(rest) > MAX_LINE_BYTES:
            yield rest
            rest, passing = b"", True
    if rest:
        yield rest if passing else change(rest)


def swapped(pieces: Iterable[bytes], swaps: Iterable[Swap]) -> Iterator[bytes]:
    """The same bytes with values of fields replaced."""

    def change(line: bytes) -> bytes:
        for pattern, new in swaps:
            line = pattern.sub(lambda found, new=new: found[1] + new, line)
        return line

    return changed(pieces, change)


def swap(fields: str, old: str, new: str, end: str = '"') -> Swap:
    """The value of these fields, or its beginning if more may follow that begins with `end`.

    Inside a text the quotes of a field are escaped, so no text is touched."""
    before, after = (json.dumps(value, ensure_ascii=False)[1:-1].encode() for value in (old, new))
    return re.compile(rf'("(?:{fields})"\s*:\s*")'.encode() + re.escape(before) + f"(?={end})".encode()), after
