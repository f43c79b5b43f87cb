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
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from muniment import files
from muniment.errors import NotRecorded
from muniment.model.events import Written
from muniment.record.commit import Group, Later
from muniment.record.disk import lock, open_durable, segment_path, segments
from muniment.record.lines import Ack, Batch, Format, Item, Place, Rotation, other_key
from muniment.record.seal import Seal

GROUP_SECONDS = 0.05
_TRY = fcntl.LOCK_EX | fcntl.LOCK_NB
CHUNK_BYTES = 1 << 20

Observe = Callable[[int, bytes], None]
"""Told of every whole line that others wrote: its offset and its bytes."""


class Log:
    """One JSONL file, open for appending. Safe to share between threads; a forked child opens its own."""

    def __init__(
        self,
        path: Path,
        form: Format,
        observe: Observe | None = None,
        rotation: Rotation | None = None,
        seal: Seal | None = None,
    ) -> None:
        self.path = path
        """The first segment; `segment` is the one that is written to."""
        self.form = form
        self.observe = observe
        self.rotation = rotation
        """Set, other writers may put a new file in this one's place, to which one must move on."""
        self.seal = seal
        self.damage: list[str] = []
        """What was found wrong with the file while it was open."""
        self._mutex = threading.Lock()
        self._syncing = threading.Lock()
        """Held while the disk works: the descriptor must not be closed meanwhile."""
        self._seen: dict[str, Place] = {}
        self._unsynced: list[Item] = []
        """Lines that no fsync has covered: what a failing disk would lose."""
        self._pid = os.getpid()
        self._descriptor = -1
        self._number: int = 0
        self._end: int = 0
        """How much of the file is known."""
        self._torn: int = 0
        """Bytes of an unfinished line at its end."""
        self._lines: int = 0
        self._others_wrote = False
        """Since we last looked; perhaps that they went on in another segment."""
        self._closed = False
        self._broken: NotRecorded | None = None
        self._group = Group[Item | None](self._commit)
        self._later = Later(self._flush_quietly, GROUP_SECONDS)
        for number, segment in enumerate(segments(path)):
            self._open(segment, number)
            self._enter()
            self._leave()
        _OPEN.add(self)

    # -- appending

    def append(self, written: Written, durable: bool = False) -> Ack:
        """Add one line. One whose key and fingerprint are there already changes nothing."""
        if b"\n" in written.line:
            raise ValueError("a line of JSON holds no newline")
        if self._pid != os.getpid():
            self._own()
        item = Item(written)
        if durable:
            self._group.submit(item)
        else:
            with self._mutex:
                self._add_alone(item)
            self._later.ask()
        assert item.ack, "a line that was added is acknowledged"
        return item.ack

    def know(self, lines: Iterable[bytes]) -> None:
        """Lines of another file that count as there already."""
        for line in lines:
            if known := self.form.identify(line):
                self._seen.setdefault(known[0], (-1, -1, known[1]))

    def flush(self) -> None:
        """Everything accepted so far is durable when this returns."""
        self._own()
        self._group.submit(None)

    def close(self) -> None:
        """Flush and let go of the file."""
        if self._closed:
            return
        try:
            if self._pid == os.getpid():
                self.flush()
        finally:
            self._closed = True
            self._later.end()
            _OPEN.discard(self)
            self._let_go()
            if self.seal:
                self.seal.close()

    def _add_alone(self, item: Item) -> None:
        """What `_add` does, faster, for the common case: one new line behind a whole one."""
        self._enter()
        try:
            written = item.written
            unusual = self._torn or self._others_wrote or self.rotation or self.seal
            if unusual or written.key is None or written.key in self._seen:
                self._put([item])
                return
            self._write(written.line + b"\n")
            self._lines += 1
            self._seen[written.key] = (self._end, self._lines, written.fingerprint)
            item.ack = Ack(self._end, self._lines)
            self._end += len(written.line) + 1
            self._unsynced.append(item)
        finally:
            self._leave()

    def _add(self, items: Sequence[Item]) -> None:
        """Write these lines, all at once, except those that are there already."""
        self._enter()
        try:
            self._put(items)
        finally:
            self._leave()

    def _put(self, items: Sequence[Item]) -> None:
        """Alone with the file."""
        if self._others_wrote:
            self._others_wrote = False
            items = [*self._followed(), *items]
        self._rotate_if_due()
        before = b""
        if self._torn:
            self._end_whole_line()
            before = self._mended() if self._torn else b""
        batch = Batch(self._end + len(before), self._lines + before.count(b"\n"))
        for item in items:
            batch.take(item, self._seen, self.form)
        if batch.lines:
            data = b"%b%b\n" % (before, b"\n".join(batch.lines))
            self._write(data)
            self._end, self._lines, self._torn = self._end + len(data), batch.number, 0
            self._seen.update(batch.new)
            self._unsynced += batch.added
            if self.seal:
                self.seal.cover(self._read, self._end)

    def _rotate_if_due(self) -> None:
        """Begin a new file where the old one is full; what the old one holds is made durable first."""
        if self.rotation is None or not self._lines or not self.rotation.due(self._end, self._lines):
            return
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise self._give_up(error) from error
        self._unsynced = []
        self.rotation.move()
        self._open(self.segment, self._number)
        self._enter()

    def _followed(self) -> list[Item]:
        """To the segment that another writer began because an fsync failed here; gives what must be written again."""
        lost: list[Item] = []
        while os.access(self._following, os.F_OK):
            lost, self._unsynced = [*lost, *self._unsynced], []
            self._leave()
            self._open(segment_path(self.path, self._number + 1), self._number + 1)
            self._enter()
        for item in lost:
            self._forget(item.written)
        return lost

    def _look_around(self) -> None:
        """Whether others are still here: once per commit, for it takes time. What was lost is written again."""
        if self.rotation is None and not os.fstat(self._descriptor).st_nlink:
            self.damage.append("the file was deleted while it was open")
            lost, self._unsynced = self._unsynced, []
            self._seen.clear()
            self._open(self.segment, self._number)
            self._add(lost)
        elif os.access(self._following, os.F_OK):
            self._others_wrote = True
            self._add([])

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

    # -- what others did

    def _enter(self) -> None:
        """Alone with the file, knowing all that is in it: nobody is in the middle of a line."""
        if self._closed:
            raise NotRecorded(f"{self.path}: the log is closed", "open it again to append")
        if self._broken is not None:
            raise self._broken
        try:
            fcntl.flock(self._descriptor, _TRY)
        except BlockingIOError:
            lock(self._descriptor, self.segment)
        try:
            while self.rotation and not files.same_file(os.fstat(self._descriptor), self.segment):
                self._catch_up(os.lseek(self._descriptor, 0, os.SEEK_END))
                self._open(self.segment, self._number)
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

    # -- the file

    def _own(self) -> None:
        """A lock belongs to the open file, which a forked child shares with its parent: it must open its own."""
        if self._pid == os.getpid():
            return
        self._pid = os.getpid()
        self._mutex = threading.Lock()
        self._syncing = threading.Lock()
        self._unsynced = []
        self._group = Group[Item | None](self._commit)
        self._later = Later(self._flush_quietly, GROUP_SECONDS)
        known = self._end, self._torn, self._lines
        self._open(self.segment, self._number)
        self._end, self._torn, self._lines = known

    def _let_go(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _open(self, segment: Path, number: int) -> None:
        """Open a segment, made if it is not there; its name is durable before anything in it is."""
        try:
            descriptor = open_durable(segment)
        except OSError as error:
            raise NotRecorded(f"{segment}: {error.strerror or error}", "can this folder be written?") from error
        with self._syncing:
            self._let_go()
        self.segment, self._number, self._descriptor = segment, number, descriptor
        self._following = str(segment_path(self.path, number + 1))
        self._end = self._torn = self._lines = 0

    # -- durability

    def _commit(self, items: Sequence[Item | None]) -> None:
        """Write the lines and sync. While the disk works, the mutex is free and others may append."""
        lines = [item for item in items if item]
        with self._mutex:
            if self._broken is not None:
                raise self._broken
            self._look_around()
            if lines:
                self._add(lines)
            unsynced, covered = self._unsynced, len(self._unsynced)
            if not covered and not lines:
                return
            self._syncing.acquire()
        try:
            self._sync()
        except OSError as error:
            self._next_segment(error, lines)
            return
        if self.seal:
            self.seal.sync()
        with self._mutex:
            del unsynced[:covered]

    def _sync(self) -> None:
        try:
            os.fsync(self._descriptor)
        finally:
            self._syncing.release()

    def _next_segment(self, error: OSError, waiting: Sequence[Item]) -> None:
        """Write again what the failed fsync may have lost, where it has not failed.

        That is every line no fsync has covered, and those another process wrote for which somebody is waiting here."""
        with self._mutex:
            self.damage.append(f"{self.segment.name}: fsync failed ({error.strerror}); a new segment was begun")
            lost = [*self._unsynced, *(item for item in waiting if item not in self._unsynced)]
            self._unsynced = []
            for item in lost:
                self._forget(item.written)
            failed = os.dup(self._descriptor)
            try:
                self._open(segment_path(self.path, self._number + 1), self._number + 1)
                self._tell_others(failed)
                self._add(lost)
                os.fsync(self._descriptor)
            except (OSError, NotRecorded) as again:
                raise self._give_up(error) from again
            finally:
                os.close(failed)
            self._unsynced = []

    def _tell_others(self, failed: int) -> None:
        """An empty line in the old segment: by its growing they notice that there is a new one."""
        with contextlib.suppress(OSError, NotRecorded):
            lock(failed, self.segment)
            os.write(failed, b"\n")
            fcntl.flock(failed, fcntl.LOCK_UN)

    def _give_up(self, error: OSError) -> NotRecorded:
        """From now on, whoever appends, flushes or closes is told."""
        self._broken = NotRecorded(f"{self.path}: fsync failed ({error.strerror})", "the disk is failing")
        return self._broken

    def _forget(self, written: Written) -> None:
        """As if the line had never been written; other content under its id stays known."""
        key = written.key or ""
        if key in self._seen and self._seen[key][2] == written.fingerprint:
            del self._seen[key]
        self._seen.pop(other_key(key, written.fingerprint), None)

    def _flush_quietly(self) -> None:
        """For the background: who appends or waits next is told what is wrong."""
        with contextlib.suppress(NotRecorded, OSError):
            self.flush()


_OPEN: weakref.WeakSet[Log] = weakref.WeakSet()


def _let_go_in_child() -> None:
    """A child that lives on would hold the lock of a parent that was killed while it wrote."""
    for opened in list(_OPEN):
        opened._let_go()  # pyright: ignore[reportPrivateUsage]


os.register_at_fork(after_in_child=_let_go_in_child)
