"""Engines that were broken on purpose, each as somebody might have written it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from muniment.errors import NotRecorded
from muniment.model.events import Written
from muniment.record import disk, log, tail

from .subjects import FORM, LogWriter, Ours


class Broken(Ours):
    """The engine with another `Log`."""

    engine: type[log.Log] = log.Log

    def open(self, path: Path) -> LogWriter:
        return LogWriter(self.engine(path, FORM))


def last_newline(path: Path) -> int:
    return path.read_bytes().rfind(b"\n") + 1


# -- healing


class _NoHeal(log.Log):
    def _end_whole_line(self) -> None: ...
    def _mended(self) -> bytes:
        return b""


class NoHeal(Broken):
    """A torn line of a dead writer eats the next one."""

    engine = _NoHeal


class _WholeLineTwice(log.Log):
    def _end_whole_line(self) -> None: ...


class WholeLineTwice(Broken):
    """A line that lacks only its newline is mended, and the event recorded again."""

    engine = _WholeLineTwice


class HealsWithoutLock(Broken):
    """Whoever opens the file cuts off its unfinished last line, which somebody may be writing."""

    def open(self, path: Path) -> LogWriter:
        if path.exists() and (whole := last_newline(path)) < path.stat().st_size:
            os.truncate(path, whole)
        return super().open(path)


class _HealsByCutting(log.Log):
    def _end_whole_line(self) -> None:
        if self._torn:
            os.ftruncate(self._descriptor, self._end - self._torn)
            self._end, self._torn = self._end - self._torn, 0


class HealsByCutting(Broken):
    """Under the lock, but the bytes are gone."""

    engine = _HealsByCutting


# -- acknowledging


class _AcksBeforeWriting(log.Log):
    def append(self, written: Written, durable: bool = False) -> log.Ack:
        held = self.__dict__.setdefault("held", [])
        held.append(written)
        if len(held) > 5:
            self.flush()
        return log.Ack(0, 0)

    def flush(self) -> None:
        for written in self.__dict__.pop("held", []):
            super().append(written)
        super().flush()


class AcksBeforeWriting(Broken):
    """Events wait in memory for company."""

    engine = _AcksBeforeWriting


class _AcksAfterAWriteError(log.Log):
    def _write(self, data: bytes) -> None:
        with contextlib.suppress(NotRecorded):
            super()._write(data)


class AcksAfterAWriteError(Broken):
    """The error is swallowed."""

    engine = _AcksAfterAWriteError


class _TakesAShortWrite(log.Log):
    def _write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            os.write(self._descriptor, data)


class TakesAShortWrite(Broken):
    """What the kernel did not take is forgotten."""

    engine = _TakesAShortWrite


class _GivesUp(log.Log):
    def _write(self, data: bytes) -> None:
        try:
            super()._write(data)
        except NotRecorded as error:
            self._broken = error
            raise


class GivesUp(Broken):
    """A disk that was full once is full for ever."""

    engine = _GivesUp


# -- durability


class _NeverSyncs(log.Log):
    def _commit(self, items: Sequence[object]) -> None:
        with self._mutex:
            self._add([item for item in items if item])  # type: ignore[misc]


class NeverSyncs(Broken):
    """Flush writes and leaves the rest to fate."""

    engine = _NeverSyncs


class _AcksBeforeSyncing(log.Log):
    def flush(self) -> None:
        self._later.ask()


class AcksBeforeSyncing(Broken):
    """Flush asks the background for an fsync and does not wait."""

    engine = _AcksBeforeSyncing


class _NeverSettles(log.Log):
    def _flush_quietly(self) -> None: ...


class NeverSettles(Broken):
    """No fsync without somebody asking for it."""

    engine = _NeverSettles


class _AcksAfterAFailedSync(log.Log):
    def _next_segment(self, error: OSError, waiting: Sequence[object]) -> None:
        self._unsynced = []


class AcksAfterAFailedSync(Broken):
    """An fsync that failed was an fsync."""

    engine = _AcksAfterAFailedSync


class _TrustsTheSecondSync(log.Log):
    def _next_segment(self, error: OSError, waiting: Sequence[object]) -> None:
        os.fdatasync(self._descriptor)
        self._unsynced = []


class TrustsTheSecondSync(Broken):
    """The second fsync succeeds, as it does on Linux, and covers nothing."""

    engine = _TrustsTheSecondSync


class _ForgetsThatItIsBroken(log.Log):
    def _commit(self, items: Sequence[object]) -> None:
        if not self._broken:
            super()._commit(items)  # type: ignore[arg-type]


class ForgetsThatItIsBroken(Broken):
    """After a disk has failed for good there is nothing left to flush, so flushing succeeds."""

    engine = _ForgetsThatItIsBroken


class NoFolderSync(Broken):
    """The content is durable, its name is not."""

    def open(self, path: Path) -> LogWriter:
        disk.sync_folder = lambda folder: None
        return super().open(path)


# -- several processes


class _Slow(log.Log):
    def _write(self, data: bytes) -> None:
        time.sleep(0.0005)  # between looking and writing, so that the race is met on any machine
        super()._write(data)


class _Unlocked:
    """Stands for `fcntl`: everybody gets the lock."""

    LOCK_UN = 0
    flock = staticmethod(lambda descriptor, operation: None)


class NoLock(Broken):
    """Writers do not wait for one another."""

    engine = _Slow

    def open(self, path: Path) -> LogWriter:
        tail.fcntl = _Unlocked
        return super().open(path)


class _KnowsOnlyItsOwn(log.Log):
    def _learn(self, offset: int, line: bytes) -> None:
        self._lines += 1


class KnowsOnlyItsOwn(Broken):
    """Events of others, and of an earlier life, are not recognised."""

    engine = _KnowsOnlyItsOwn


class _DropsTheOther(log.Log):
    def append(self, written: Written, durable: bool = False) -> log.Ack:
        if known := self._seen.get(written.key or ""):
            return log.Ack(known[0], known[1], duplicate=True)
        return super().append(written, durable)


class DropsTheOther(Broken):
    """An id that is taken is taken, whatever the content."""

    engine = _DropsTheOther


class _ChildSharesTheLock(_Slow):
    def _own(self) -> None: ...
    def _let_go(self) -> None: ...


class ChildSharesTheLock(Broken):
    """A forked child goes on with the descriptor, and so with the lock, of its parent."""

    engine = _ChildSharesTheLock


class SimpleWriter(LogWriter):
    """What a first draft looks like."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[bytes] = []

    def append(self, session: str, uuid: str, payload: str) -> None:
        self.put(log_line(uuid, payload))

    def put(self, line: bytes) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        os.sync()

    def close(self) -> None: ...


def log_line(uuid: str, payload: str) -> bytes:
    from muniment.model.events import USER, Event

    [written] = FORM.lines([Event(USER, "", uuid, None, {"text": payload})])
    return written.line + b"\n"


_MEANWHILE = 0.0002
"""Seconds that let another process in: on a busy machine four writers may else come one after the other by chance."""


class _TwoWrites(SimpleWriter):
    def put(self, line: bytes) -> None:
        with self.path.open("ab", buffering=0) as file:
            file.write(line[: len(line) // 2])
            time.sleep(_MEANWHILE)
            file.write(line[len(line) // 2 :])


class TwoWritesPerLine(Broken):
    """Between the halves of a line there is room for somebody else's."""

    def open(self, path: Path) -> LogWriter:
        return _TwoWrites(path)


class _AtItsOwnEnd(SimpleWriter):
    def put(self, line: bytes) -> None:
        self.path.touch()
        with self.path.open("r+b", buffering=0) as file:
            file.seek(0, os.SEEK_END)
            time.sleep(_MEANWHILE)
            file.write(line)


class WritesAtTheEndItSaw(Broken):
    """The end of the file has moved meanwhile."""

    def open(self, path: Path) -> LogWriter:
        return _AtItsOwnEnd(path)


class _WholeFile(SimpleWriter):
    def put(self, line: bytes) -> None:
        before = self.path.read_bytes() if self.path.exists() else b""
        self.path.write_bytes(before + line)


class RewritesTheFile(Broken):
    """The file is empty for a moment, at every append."""

    def open(self, path: Path) -> LogWriter:
        return _WholeFile(path)


# -- readers


class StopsAtTheFirstBadLine(Broken):
    """One damaged line hides everything behind it."""

    def read(self, path: Path) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for line in path.read_bytes().split(b"\n"):
            try:
                [event] = FORM.events(line)
            except ValueError:
                break
            if event.payload and "text" in event.payload:
                found.append((event.uuid, event.payload["text"]))
        return found


class ReaderRepairs(Broken):
    """Whoever reads the file cuts off its unfinished last line, which somebody is writing."""

    def read(self, path: Path) -> list[tuple[str, str]]:
        if (whole := last_newline(path)) < path.stat().st_size:
            os.truncate(path, whole)
        return super().read(path)
