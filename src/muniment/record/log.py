"""The append engine: one JSONL file that several processes and threads add to, and no acknowledged line is ever lost.

An append takes the file's lock, learns what others added since it last looked, mends a line that a dead writer left
unfinished, and writes its own line whole. Nothing is ever cut off or rewritten. Two acknowledgements:

- *accepted*: `append` has returned. The line survives the death of every process.
- *durable*: `append(durable=True)` or `flush` has returned. The line survives a power cut, too. What was only accepted
  becomes durable within `GROUP_SECONDS` by itself.

A disk that refuses an fsync once is not believed again: later "success" would cover nothing. The lines that are not
known to be durable are written again, to the next segment (`session.jsonl.s1`), and recording goes on there.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from muniment import files
from muniment.errors import NotRecorded
from muniment.model.events import Written
from muniment.record.commit import Group, Later

GROUP_SECONDS = 0.05
LOCK_SECONDS = 10.0
CHUNK_BYTES = 1 << 20

Observe = Callable[[int, bytes], None]
"""Told of every whole line that others wrote: its offset and its bytes."""


class Ack(Struct, frozen=True, gc=False):
    """An event is in the file; it survives the death of every process."""

    byte_offset: int
    line_number: int
    duplicate: bool = False
    """The same event was there already; nothing was written."""
    conflict: bool = False
    """Its id was taken by other content; both are kept."""


class Format(Protocol):
    """What the engine must know of the lines: a part of a dialect."""

    def identify(self, line: bytes) -> tuple[str, int] | None: ...
    def flag(self, line: bytes) -> bytes: ...
    def recovery(self, offset: int, length: int, sha256: str) -> bytes | None: ...


_Place = tuple[int, int, int]
"""Offset, line number and fingerprint of a line."""


class _Item:
    """A line on its way into the file."""

    __slots__ = ("ack", "written")

    def __init__(self, written: Written) -> None:
        self.written = written
        self.ack: Ack | None = None


class Log:
    """One JSONL file, open for appending. Safe to share between threads; a forked child opens its own."""

    def __init__(self, path: Path, form: Format, observe: Observe | None = None, follow: bool = False) -> None:
        self.path = path
        """The first segment; `segment` is the one that is written to."""
        self.form = form
        self.observe = observe
        self.follow = follow
        """Whether other writers put a new file in this one's place (rotation), to which one must move on."""
        self.damage: list[str] = []
        """What was found wrong with the file while it was open."""
        self._mutex = threading.Lock()
        self._seen: dict[str, _Place] = {}
        self._unsynced: list[_Item] = []
        """Lines that no fsync has covered: what a failing disk would lose."""
        self._pid = os.getpid()
        self._descriptor = -1
        self._number: int = 0
        self._end: int = 0
        """How much of the file is known."""
        self._torn: int = 0
        """Bytes of an unfinished line at its end."""
        self._lines: int = 0
        self._closed = False
        self._broken: NotRecorded | None = None
        self._group = Group[_Item | None](self._commit)
        self._later = Later(self._flush_quietly, GROUP_SECONDS)
        for number, segment in enumerate(segments(path)):
            self._open(segment, number)
            self._enter()
            self._leave()

    # -- appending

    def append(self, written: Written, durable: bool = False) -> Ack:
        """Add one line. One whose key and fingerprint are there already changes nothing."""
        if b"\n" in written.line:
            raise ValueError("a line of JSON holds no newline")
        self._own()
        item = _Item(written)
        if durable:
            self._group.submit(item)
        else:
            with self._mutex:
                self._add([item])
            self._later.ask()
        assert item.ack, "a line that was added is acknowledged"
        return item.ack

    def flush(self) -> None:
        """Everything accepted so far is durable when this returns."""
        self._own()
        self._group.submit(None)

    def close(self) -> None:
        """Flush and let go of the file."""
        if self._closed:
            return
        try:
            if self._pid == os.getpid() and self._broken is None:
                self.flush()
        finally:
            self._closed = True
            self._later.end()
            os.close(self._descriptor)

    def _add(self, items: Sequence[_Item]) -> None:
        """Write these lines, all at once, except those that are there already."""
        if self._closed:
            raise NotRecorded(f"{self.path}: the log is closed", "open it again to append")
        if self._broken is not None:
            raise self._broken
        self._enter()
        try:
            before = self._mended() if self._torn else b""
            batch = _Batch(self._end + len(before), self._lines + before.count(b"\n"))
            for item in items:
                batch.take(item, self._seen, self.form)
            if batch.lines:
                data = b"%b%b\n" % (before, b"\n".join(batch.lines))
                self._write(data)
                self._end, self._lines, self._torn = self._end + len(data), batch.number, 0
                self._seen.update(batch.new)
                self._unsynced += batch.added
        finally:
            self._leave()

    def _mended(self) -> bytes:
        """What must stand before the next line: an end for one that its writer left unfinished, and word of it."""
        offset = self._end - self._torn
        self.damage.append(f"byte {offset}: an unfinished line of {self._torn} bytes")
        digest = hashlib.sha256(self._read(offset, self._end)).hexdigest()
        told = self.form.recovery(offset, self._torn, digest)
        return b"\n" if told is None else b"\n%b\n" % told

    def _write(self, data: bytes) -> None:
        """All of it, and the file must have grown by as much: a kernel may take less, and a disk may lie."""
        try:
            written = os.write(self._descriptor, data)
            while written < len(data):
                written += os.write(self._descriptor, memoryview(data)[written:])
            grown = os.fstat(self._descriptor).st_size
        except OSError as error:
            raise self._refused(error) from error
        if grown < self._end + len(data):
            raise NotRecorded(f"{self.segment}: the file did not grow by what was written", "is the disk failing?")
        if grown > self._end + len(data):
            self.damage.append(f"byte {self._end}: another program writes to the file and does not lock it")

    def _refused(self, error: OSError) -> NotRecorded:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        hint = "make room and record it again" if full else "is the disk failing?"
        return NotRecorded(f"{self.segment}: {error.strerror or error}", hint)

    # -- what others did

    def _enter(self) -> None:
        """Alone with the file, knowing all that is in it: nobody is in the middle of a line."""
        lock(self._descriptor, self.segment)
        try:
            while (status := self._status()) is None:
                self._open(self.segment, self._number)
                lock(self._descriptor, self.segment)
            if status.st_size != self._end:
                self._catch_up(status.st_size)
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        with contextlib.suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _status(self) -> os.stat_result | None:
        """The state of the open file; None if it is no longer the one at its path."""
        status = os.fstat(self._descriptor)
        if self.follow:
            with contextlib.suppress(FileNotFoundError):
                there = os.stat(self.segment)
                return status if (there.st_ino, there.st_dev) == (status.st_ino, status.st_dev) else None
            return None
        if status.st_nlink:
            return status
        self.damage.append("the file was deleted while it was open")
        self._seen.clear()
        return None

    def _catch_up(self, size: int) -> None:
        """Learn the lines that were added since we last looked; only those are read."""
        if size < self._end:
            self.damage.append(f"byte {size}: the file was cut short from {self._end} bytes")
            self._seen.clear()
            self._end = self._torn = self._lines = 0
        rest = self._read(self._end - self._torn, self._end) if self._torn else b""
        offset = self._end - len(rest)
        while self._end < size:
            piece = self._read(self._end, min(size, self._end + CHUNK_BYTES))
            if not piece:
                raise NotRecorded(f"{self.segment}: the file shrinks while it is read", "does another program cut it?")
            self._end += len(piece)
            lines = piece.split(b"\n")
            lines[0] = rest + lines[0]
            rest = lines.pop()
            for line in lines:
                self._learn(offset, line)
                offset += len(line) + 1
        self._torn = len(rest)

    def _learn(self, offset: int, line: bytes) -> None:
        self._lines += 1
        if self.observe:
            self.observe(offset, line)
        if known := self.form.identify(line):
            self._seen.setdefault(known[0], (offset, self._lines, known[1]))

    def _read(self, start: int, end: int) -> bytes:
        return os.pread(self._descriptor, end - start, start)

    # -- the file

    def _own(self) -> None:
        """A lock belongs to the open file, which a forked child shares with its parent: it must open its own."""
        if self._pid == os.getpid():
            return
        self._pid = os.getpid()
        self._mutex = threading.Lock()
        self._unsynced = []
        self._group = Group[_Item | None](self._commit)
        self._later = Later(self._flush_quietly, GROUP_SECONDS)
        known = self._end, self._torn, self._lines
        self._open(self.segment, self._number)
        self._end, self._torn, self._lines = known

    def _open(self, segment: Path, number: int) -> None:
        """Open a segment, made if it is not there; its name is durable before anything in it is."""
        try:
            descriptor = open_durable(segment)
        except OSError as error:
            raise NotRecorded(f"{segment}: {error.strerror or error}", "can this folder be written?") from error
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self.segment, self._number, self._descriptor = segment, number, descriptor
        self._end = self._torn = self._lines = 0

    # -- durability

    def _commit(self, items: Sequence[_Item | None]) -> None:
        """Write the lines and sync. While the disk works, the mutex is free and others may append."""
        lines = [item for item in items if item]
        with self._mutex:
            if lines:
                self._add(lines)
            descriptor, covered = self._descriptor, len(self._unsynced)
        if not covered and not lines:
            return
        try:
            os.fsync(descriptor)
        except OSError as error:
            self._next_segment(error, lines)
            return
        with self._mutex:
            del self._unsynced[:covered]

    def _next_segment(self, error: OSError, waiting: Sequence[_Item]) -> None:
        """Write again what the failed fsync may have lost, where it has not failed.

        That is every line no fsync has covered, and those another process wrote for which somebody is waiting here."""
        with self._mutex:
            self.damage.append(f"{self.segment.name}: fsync failed ({error.strerror}); a new segment was begun")
            lost = [*self._unsynced, *(item for item in waiting if item not in self._unsynced)]
            self._unsynced = []
            for item in lost:
                self._seen.pop(item.written.key or "", None)
            try:
                self._open(segment_path(self.path, self._number + 1), self._number + 1)
                self._add(lost)
                os.fsync(self._descriptor)
            except (OSError, NotRecorded) as again:
                self._broken = NotRecorded(f"{self.path}: fsync failed ({error.strerror})", "the disk is failing")
                raise self._broken from again
            self._unsynced = []

    def _flush_quietly(self) -> None:
        """For the background: who appends or waits next is told what is wrong."""
        with contextlib.suppress(NotRecorded, OSError):
            self.flush()


class _Batch:
    """Lines that are written together, and where each will lie."""

    def __init__(self, offset: int, number: int) -> None:
        self.offset: int = offset
        self.number: int = number
        self.lines: list[bytes] = []
        self.added: list[_Item] = []
        self.new: dict[str, _Place] = {}

    def take(self, item: _Item, seen: dict[str, _Place], form: Format) -> None:
        """Add a line, unless it is there: in the file, or in this batch."""
        line, key, fingerprint = item.written.line, item.written.key, item.written.fingerprint
        known = None if key is None else seen.get(key) or self.new.get(key)
        if known and known[2] == fingerprint:
            item.ack = Ack(known[0], known[1], duplicate=True)
            return
        if known:
            line = form.flag(line)
        self.number += 1
        item.ack = Ack(self.offset, self.number, conflict=known is not None)
        if key is not None and not known:
            self.new[key] = (self.offset, self.number, fingerprint)
        self.lines.append(line)
        self.added.append(item)
        self.offset += len(line) + 1


def segment_path(path: Path, number: int) -> Path:
    return path if number == 0 else path.with_name(f"{path.name}.s{number}")


def segments(path: Path) -> list[Path]:
    """The segments of a log that are there, in order; the first one even if it is not."""
    found = [path]
    while (following := segment_path(path, len(found))).exists():
        found.append(following)
    return found


def open_durable(path: Path) -> int:
    """Open a regular file for appending, made if it is not there; its name then survives a power cut."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    files.make_folder(path.parent)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), files.FILE_MODE)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotRecorded(f"{path}: not a regular file", "is there a pipe or a device in the way?")
    for made in missing:
        sync_folder(made.parent)
    return descriptor


def sync_folder(folder: Path) -> None:
    """The names in a folder survive a power cut when this returns."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock(descriptor: int, path: Path) -> None:
    """Take the lock of an open file; a holder that does not let go is named."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    except BlockingIOError:
        pass
    pause, deadline = 0.0, time.monotonic() + LOCK_SECONDS
    while time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(pause + 0.0001, 0.01)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
    holder = _holder(descriptor)
    raise NotRecorded(f"{path}: locked by process {holder} for {LOCK_SECONDS:.0f} s", "is it stopped?")


def _holder(descriptor: int) -> str:
    """The process that holds the lock, as far as the system tells."""
    inode = os.fstat(descriptor).st_ino
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if "FLOCK" in fields and fields[-3].endswith(f":{inode}") and "->" not in fields:
                return fields[4]
    return "(unknown)"
