"""One file under its lock: what is in it, as far as this process knows, and adding bytes to it.

Only what others added since is read. Under the lock nobody is in the middle of a line, so an unfinished one at the end
was left by a writer that died.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

from muniment import files
from muniment.errors import NotRecorded
from muniment.record.disk import lock, open_durable
from muniment.record.lines import Format, Place, Rotation, other_key

CHUNK_BYTES = 1 << 20
_TRY = fcntl.LOCK_EX | fcntl.LOCK_NB

Observe = Callable[[int, bytes], None]
"""Told of every whole line that others wrote: its offset and its bytes."""


class Tail:
    """The end of a file that several processes add to."""

    def __init__(self, form: Format, observe: Observe | None, rotation: Rotation | None) -> None:
        self.form = form
        self.observe = observe
        self.rotation = rotation
        """Set, other writers may put a new file in this one's place, to which one must move on."""
        self.damage: list[str] = []
        """What was found wrong with the file while it was open."""
        self.segment = Path()
        """The file itself."""
        self._syncing = threading.Lock()
        """Held while the disk works: the descriptor must not be closed meanwhile."""
        self._seen: dict[str, Place] = {}
        self._descriptor = -1
        self._end: int = 0
        """How much of the file is known."""
        self._torn: int = 0
        """Bytes of an unfinished line at its end."""
        self._lines: int = 0
        self._others_wrote = False
        """Since we last looked; perhaps that they went on in another segment."""

    # -- the lock

    def _enter(self) -> None:
        """Alone with the file, knowing all that is in it: nobody is in the middle of a line."""
        try:
            fcntl.flock(self._descriptor, _TRY)
        except BlockingIOError:
            lock(self._descriptor, self.segment)
        try:
            while self.rotation and not files.same_file(os.fstat(self._descriptor), self.segment):
                self._catch_up(os.lseek(self._descriptor, 0, os.SEEK_END))
                self._open(self.segment)
                lock(self._descriptor, self.segment)
            size = os.lseek(self._descriptor, 0, os.SEEK_END)  # a third of the time of fstat
            if size != self._end:
                self._catch_up(size)
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        except OSError:  # the file was closed, and the lock with it
            return

    # -- what is in it

    def _catch_up(self, size: int) -> None:
        """Learn the lines that were added since we last looked; only those are read."""
        self._others_wrote = True
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
            place = (offset, self._lines, known[1])
            if self._seen.setdefault(known[0], place)[2] != known[1]:
                self._seen.setdefault(other_key(*known), place)

    def _read(self, start: int, end: int) -> bytes:
        return os.pread(self._descriptor, end - start, start)

    # -- adding to it

    def _end_whole_line(self) -> None:
        """A line that lacks nothing but its newline is an event: it must not be recorded again."""
        offset = self._end - self._torn
        if self.form.identify(torn := self._read(offset, self._end)):
            self._write(b"\n")
            self._end, self._torn = self._end + 1, 0
            self._learn(offset, torn)

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
            grown = os.lseek(self._descriptor, 0, os.SEEK_END)
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

    # -- the file

    def _open(self, path: Path) -> None:
        """Open a file, made if it is not there, in place of the one before; nothing of it is known yet."""
        try:
            descriptor = open_durable(path)
        except OSError as error:
            raise NotRecorded(f"{path}: {error.strerror or error}", "can this folder be written?") from error
        with self._syncing:
            self._let_go()
        self.segment, self._descriptor = path, descriptor
        self._end = self._torn = self._lines = 0

    def _let_go(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
