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
import fcntl
import os
import threading
import weakref
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

from muniment.errors import NotRecorded
from muniment.model.events import Written
from muniment.record.commit import Group, Later
from muniment.record.disk import lock, segment_path, segments, sync_file
from muniment.record.lines import Ack, Batch, Format, Item, Rotation, other_key
from muniment.record.seal import Seal
from muniment.record.tail import Observe, Tail

GROUP_SECONDS = 0.05


class Log(Tail):
    """One JSONL file, open for appending. Safe to share between threads; a forked child opens its own."""

    def __init__(
        self,
        path: Path,
        form: Format,
        observe: Observe | None = None,
        rotation: Rotation | None = None,
        seal: bool = False,
    ) -> None:
        super().__init__(form, observe, rotation)
        self.path = path
        """The first segment; `segment` is the one that is written to."""
        self._sealed = seal
        self._seal: Seal | None = None
        self._unsynced: list[Item] = []
        """Lines that no fsync has covered: what a failing disk would lose."""
        self._owed: list[Item] = []
        """Lines that were accepted, may be lost where they are, and must be written again before all others."""
        self._closed = False
        self._broken: NotRecorded | None = None
        self._begin()
        for number, _ in enumerate(segments(path)):
            self._open_segment(number)
            self._enter()
            self._leave()
        _OPEN.add(self)

    def _begin(self) -> None:
        """What belongs to one process."""
        self._pid = os.getpid()
        self._mutex = threading.Lock()
        self._syncing = threading.Lock()
        self._group = Group[Item | None](self._commit)
        self._later = Later(self._flush_quietly, GROUP_SECONDS)

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
            else:
                self._begin()  # another process's locks may be held for ever
        finally:
            with self._mutex, self._syncing:  # whoever appends meanwhile must not write into a file of others
                self._closed = True
                self._let_go()
                if self._seal:
                    self._seal.close()
            self._later.end()
            _OPEN.discard(self)

    def _ready(self) -> None:
        if self._closed:
            raise NotRecorded(f"{self.path}: the log is closed", "open it again to append")
        if self._broken is not None:
            raise self._broken

    def _add_alone(self, item: Item) -> None:
        """What `_add` does, faster, for the common case: one new line behind a whole one."""
        self._ready()
        self._enter()
        try:
            written = item.written
            unusual = self._torn or self._others_wrote or self._owed or self.rotation or self._seal
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
        self._ready()
        self._enter()
        try:
            self._put(items)
        finally:
            self._leave()

    def _put(self, items: Sequence[Item]) -> None:
        """The same, alone with the file already; what is owed goes first."""
        if self._others_wrote:
            self._others_wrote = False
            self._follow()
        self._rotate_if_due()
        before = b""
        if self._torn:
            self._end_whole_line()
            before = self._mended() if self._torn else b""
        batch = Batch(self._end + len(before), self._lines + before.count(b"\n"))
        for item in [*self._owed, *items]:
            batch.take(item, self._seen, self.form)
        if batch.lines:
            data = b"%b%b\n" % (before, b"\n".join(batch.lines))
            self._write(data)
            self._end, self._lines, self._torn = self._end + len(data), batch.number, 0
            self._seen.update(batch.new)
            self._unsynced += batch.added
            with self._seal_may_wait():
                if self._seal:
                    self._seal.cover(self._read, self._end)
        self._owed = []

    def _owe(self, others: Sequence[Item] = ()) -> None:
        """What no fsync has covered must be written again, and so must `others`."""
        self._owed += [*self._unsynced, *(item for item in others if item not in self._unsynced)]
        self._unsynced = []
        for item in self._owed:
            self._forget(item.written)

    def _forget(self, written: Written) -> None:
        """As if the line had never been written; other content under its id stays known."""
        key = written.key or ""
        if key in self._seen and self._seen[key][2] == written.fingerprint:
            del self._seen[key]
        self._seen.pop(other_key(key, written.fingerprint), None)

    # -- from one file to another

    def _open_segment(self, number: int) -> None:
        self._number = number
        self._following = str(segment_path(self.path, number + 1))
        if self._seal:
            self._seal.close()
        self._seal = Seal(segment_path(self.path, number)) if self._sealed else None
        self._open(segment_path(self.path, number))

    def _rotate_if_due(self) -> None:
        """Begin a new file where the old one is full; what the old one holds is made durable first."""
        if self.rotation is None or not self._lines or not self.rotation.due(self._end, self._lines):
            return
        try:
            sync_file(self._descriptor)
        except OSError as error:
            raise self._give_up(error) from error
        self._unsynced = []
        self.rotation.move()
        self._open(self.segment)
        self._enter()

    def _follow(self) -> None:
        """To the segment that another writer began because an fsync failed here."""
        while os.access(self._following, os.F_OK):
            self._owe()
            self._leave()
            self._open_segment(self._number + 1)
            self._enter()

    def _look_around(self) -> None:
        """Whether the others still write here. Once per commit, for it takes time."""
        if self.rotation is None and not os.fstat(self._descriptor).st_nlink:
            self.damage.append("the file was deleted while it was open")
            self._owe()
            self._seen.clear()
            self._open(self.segment)
        elif os.access(self._following, os.F_OK):
            self._others_wrote = True

    def _own(self) -> None:
        """A lock belongs to the open file, which a forked child shares with its parent: it must open its own."""
        if self._pid == os.getpid():
            return
        self._begin()
        self._unsynced, self._owed = [], []
        known = self._end, self._torn, self._lines
        self._open(self.segment)
        if self.rotation is None:  # else it may be another file by now, of which nothing is known
            self._end, self._torn, self._lines = known

    # -- durability

    def _commit(self, items: Sequence[Item | None]) -> None:
        """Write the lines and sync. While the disk works, the mutex is free and others may append."""
        lines = [item for item in items if item]
        with self._mutex:
            self._ready()
            self._look_around()
            if lines or self._owed or self._others_wrote:
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
        with self._seal_may_wait():
            if self._seal:
                self._seal.sync()
        with self._mutex:
            del unsynced[:covered]

    @contextlib.contextmanager
    def _seal_may_wait(self) -> Generator[None]:
        """The line is in the log, whatever becomes of the seal: the next one covers it too."""
        try:
            yield
        except OSError as error:
            self.damage.append(f"the chain could not be written ({error.strerror})")

    def _sync(self) -> None:
        try:
            sync_file(self._descriptor)
        finally:
            self._syncing.release()

    def _next_segment(self, error: OSError, waiting: Sequence[Item]) -> None:
        """Write again what the failed fsync may have lost, where it has not failed.

        That is every line no fsync has covered, and those another process wrote for which somebody is waiting here."""
        with self._mutex:
            self.damage.append(f"{self.segment.name}: fsync failed ({error.strerror}); a new segment was begun")
            self._owe(waiting)
            failed = os.dup(self._descriptor)
            try:
                self._open_segment(self._number + 1)
                self._tell_others(failed)
                self._add([])
                sync_file(self._descriptor)
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
