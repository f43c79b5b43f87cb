"""`edits.jsonl`: what people decided about the archive, append-only, so that `reindex` can apply it again.

What this program did at their word and no file of an agent tells, it notes here too: which session it wrote from which.

    {"at":"2026-03-20T09:00:00Z","kind":"engagement","session_id":"…","round":3,"value":"console-work"}
    {"at":"2026-03-20T09:05:00Z","kind":"move","session_id":"…","round":null,"value":"historian"}
    {"at":"2026-03-20T09:07:00Z","kind":"tags","session_id":"…","round":null,"value":"[\\"release\\",\\"to read\\"]"}
    {"at":"2026-03-20T09:09:00Z","kind":"continued","session_id":"…","round":4,"value":"SESSION"}

The last edit of a round wins; an empty value takes the tag away. The tags of a session are said anew as a whole, as a
JSON list. Round files never change. A move is said here before anything is moved, so that one that was cut off is
brought to its end. A session that was continued from another has that one as its value; its rounds up to the one that
is named were taken over. Each line ends with a checksum of its own (`sealed`), so that damage shows.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Generator
from functools import lru_cache

import msgspec
from msgspec import Struct

from muniment import files
from muniment.model import codec
from muniment.store import sealed
from muniment.store.layout import Layout


class Edit(Struct, frozen=True):
    """One decision."""

    at: str
    kind: str
    session_id: str
    round: int | None = None
    value: str | None = None


class Continued(Struct, frozen=True):
    """A session that was written from another one."""

    origin: str
    rounds: int
    """How many of its rounds, from the first on, were taken over."""


def append(layout: Layout, edit: Edit) -> None:
    """Add a decision; durable when this returns, and not there at all if it fails."""
    files.make_folder(layout.sessions)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(layout.edits, flags, files.FILE_MODE)
    try:
        files.require_regular(descriptor, layout.edits)
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # an export adds a line without the lock of the store
        size = os.fstat(descriptor).st_size
        torn = size and os.pread(descriptor, 1, size - 1) != b"\n"
        line = (b"\n" if torn else b"") + sealed.seal(codec.encode(edit)) + b"\n"
        with _undone_on_error(descriptor, size):
            files.write_whole(descriptor, line)
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _undone_on_error(descriptor: int, size: int) -> Generator[None]:
    """Cut a file back to the size that it had if the work on it fails: half a line would be told as damage."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # what went wrong first is what counts
            os.ftruncate(descriptor, size)
        raise


def engagements(layout: Layout, session_id: str) -> dict[int, str]:
    """The engagement of every round of a session that a person tagged."""
    return _engagements(str(layout.edits), files.changed_at(layout.edits)).get(session_id, {})


def tagged(layout: Layout) -> dict[str, dict[int, str]]:
    """The same for every session with such rounds."""
    return {id_: tags for id_, tags in _engagements(str(layout.edits), files.changed_at(layout.edits)).items() if tags}


def every(layout: Layout) -> tuple[Edit, ...]:
    """All decisions, in the order in which they were taken."""
    return _edits(str(layout.edits), files.changed_at(layout.edits))


def moves(layout: Layout) -> dict[str, str]:
    """The bucket that each moved session belongs to."""
    moved = (edit for edit in _edits(str(layout.edits), files.changed_at(layout.edits)) if edit.kind == "move")
    return {edit.session_id: edit.value for edit in moved if edit.value}


def continued(layout: Layout) -> dict[str, Continued]:
    """Every session that was written from another one, whether or not it is in the archive yet."""
    noted = (edit for edit in _edits(str(layout.edits), files.changed_at(layout.edits)) if edit.kind == "continued")
    return {edit.session_id: Continued(edit.value, edit.round or 0) for edit in noted if edit.value}


def tags(layout: Layout, session_id: str) -> tuple[str, ...]:
    """What people call a session."""
    return _tags(str(layout.edits), files.changed_at(layout.edits)).get(session_id, ())


@lru_cache(maxsize=2)
def _tags(path: str, changed: tuple[int, int]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for edit in _edits(path, changed):
        if edit.kind == "tags":
            with contextlib.suppress(msgspec.MsgspecError, ValueError):  # written by another version
                found[edit.session_id] = msgspec.json.decode(edit.value or "[]", type=tuple[str, ...])
    return found


@lru_cache(maxsize=2)
def _edits(path: str, changed: tuple[int, int]) -> tuple[Edit, ...]:
    said: list[Edit] = []
    for line in _read(path).split(b"\n") if changed != (0, 0) else []:
        with contextlib.suppress(msgspec.MsgspecError, ValueError):  # a torn line of a killed writer, or no UTF-8
            said.append(msgspec.json.decode(line, type=Edit))
    return tuple(said)


def _read(path: str) -> bytes:
    """What lies there in place of a file is told by a check, and holds no decisions."""
    try:
        return files.read_regular(path)
    except (IsADirectoryError, files.Irregular):
        return b""


@lru_cache(maxsize=2)
def _engagements(path: str, changed: tuple[int, int]) -> dict[str, dict[int, str]]:
    tags: dict[str, dict[int, str]] = {}
    for edit in _edits(path, changed):
        if edit.kind == "engagement" and edit.round is not None:
            own = tags.setdefault(edit.session_id, {})
            own.pop(edit.round, None)
            if edit.value:
                own[edit.round] = edit.value
    return tags
