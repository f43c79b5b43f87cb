"""Writing one file back: how what lies at its path compares with it, and what is done about that."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from muniment import files


class Restored(Struct, frozen=True):
    """One file that was given back, or why it was not."""

    path: str
    what: str
    """written, unchanged, newer (the file there has more than we do), appended (history lines), other (what was there
    differs and was left alone, because the session only came along with another), left out (`note` says why)."""
    bytes: int = 0
    then: str = ""
    """What has to be typed before the agent sees it; most agents find the file by themselves."""
    note: str = ""
    """What the agent will miss."""
    resume: str = ""
    """What a person types to go on with the session, told of a transcript that lies where its agent looks."""


class Plan(Struct, frozen=True):
    """One file to be written."""

    path: Path
    what: str
    pieces: Iterable[bytes]
    then: str = ""
    resume: str = ""
    note: str = ""

    def carry_out(self) -> Restored:
        size, what = 0, self.what
        if self.what == "written":
            files.make_folder(self.path.parent)
            size = _write(self.path, self.pieces)
        elif self.what == "appended":
            size = _append_lines(self.path, b"".join(self.pieces))
            what = what if size else "unchanged"
        elif self.what == "unchanged":
            os.utime(self.path)
        return Restored(str(self.path), what, size, self.then, self.note, self.resume)


WHAT = {"missing": "written", "differs": "written", "shorter": "written", "equal": "unchanged", "longer": "newer"}
"""What is done with a file, by how what lies at its path compares with it."""


def compare(path: Path, pieces: Iterable[bytes]) -> str:
    """How what lies at a path compares with what would be written."""
    if path.is_symlink():
        return "differs"
    if not path.exists():
        return "missing"
    theirs = 0
    size = path.stat().st_size
    with files.open_regular(path) as file:
        for piece in pieces:
            there = file.read(len(piece)) or b""
            if not piece.startswith(there):
                return "differs"
            theirs += len(there)
            if len(there) < len(piece):
                return "shorter"
    return "equal" if theirs == size else "longer"


def _write(path: Path, pieces: Iterable[bytes]) -> int:
    size = 0

    def counted() -> Iterator[bytes]:
        nonlocal size
        for piece in pieces:
            size += len(piece)
            yield piece

    put = files.write_durable if path.exists() else files.write_atomic  # what is replaced may be the only copy
    put(path, counted())
    return size


def _append_lines(path: Path, lines: bytes) -> int:
    """Lines that are not there yet, added at the end; the rest of a shared file is not ours to touch."""
    there = b"".join(files.chunks(path)) if path.exists() or path.is_symlink() else b""
    known = set(there.split(b"\n"))
    missing = [line for line in lines.split(b"\n") if line and line not in known]
    if not missing:
        return 0
    files.make_folder(path.parent)
    start = b"\n" if there and not there.endswith(b"\n") else b""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, files.FILE_MODE)
    with os.fdopen(descriptor, "wb") as out:
        return out.write(start + b"\n".join(missing) + b"\n")
