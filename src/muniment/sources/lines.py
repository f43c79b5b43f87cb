"""A file of records, one a line: told apart without holding more of it than one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

MAX_LINE_BYTES = 64 << 20
"""A longer line is kept in the evidence and not parsed."""


class Record(Struct, frozen=True, gc=False):
    """One line of a source file, or what can be told apart of a line that is damaged."""

    offset: int
    raw: bytes
    length: int
    torn: bool = False
    """The file ends inside this line: it is not yet there."""


def records(pieces: Iterable[bytes], offset: int = 0) -> Iterator[Record]:
    """Split a byte stream at newlines. Memory stays bounded by the longest line that is parsed."""
    rest = b""
    skipped = 0
    for piece in pieces:
        lines = piece.split(b"\n")
        lines[0] = rest + lines[0]
        rest = lines.pop()
        for line in lines:
            if skipped:
                yield Record(offset, b"", skipped + len(line))
                offset += skipped + len(line) + 1
                skipped = 0
                continue
            yield Record(offset, line, len(line))
            offset += len(line) + 1
        if len(rest) + skipped > MAX_LINE_BYTES:
            skipped += len(rest)
            rest = b""
    if rest or skipped:
        yield Record(offset, b"" if skipped else rest, skipped + len(rest), torn=True)


def too_long(record: Record) -> str:
    """What to say of a line that is kept and not read; nothing of one that can be."""
    return f"a line of {record.length} bytes is kept and not read" if record.length > MAX_LINE_BYTES else ""
