"""The lines of an original file with something changed in each: what `moved` of most sources does.

A line that is too long to be parsed passes as it is, in pieces: nothing of a file may be lost because it is moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from muniment.sources.base import MAX_LINE_BYTES

Change = Callable[[bytes], bytes]


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
