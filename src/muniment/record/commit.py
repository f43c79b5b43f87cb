"""Group commit: many appends, one write and one fsync.

Whoever needs durability first leads: it commits for all who are waiting by then, and hands the lead to the first of
those who came meanwhile. What nobody waits for is committed by a background thread a moment later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


GATHER_SECONDS = 0.0003
"""How long a leader waits for as many as came the last time: about as long as an fsync takes on a fast disk."""


class Entry(Generic[T]):
    """Something to be committed, and the one who waits for it."""

    __slots__ = ("error", "finished", "following", "gate", "gone", "item", "leads")

    def __init__(self, item: T) -> None:
        self.item = item
        self.finished = False
        self.gone = False
        """Who waited for it was interrupted: it can wake nobody."""
        self.leads = False
        """It was told to lead."""
        self.following: Entry[T] | None = None
        """Who is woken next. One wakes the other: all at once they would only fight for the interpreter."""
        self.error: BaseException | None = None
        self.gate = threading.Lock()
        self.gate.acquire()


class Group(Generic[T]):
    """Commits items together. `commit` is called by one thread at a time."""

    def __init__(self, commit: Callable[[Sequence[T]], None]) -> None:
        self._commit = commit
        self._mutex = threading.Lock()
        self._waiting: list[Entry[T]] = []
        self._leading = False
        self._expected = 1
        """How many came the last time."""
        self._gathering: threading.Lock | None = None
        """Released when that many are there."""

    def submit(self, item: T) -> None:
        """Return once the item is committed; raises what went wrong."""
        entry = Entry(item)
        with self._mutex:
            self._waiting.append(entry)
            leads, self._leading = not self._leading, True
            if self._gathering and len(self._waiting) >= self._expected:
                self._gathering.release()
                self._gathering = None
        if not leads:
            self._await(entry)
        if not entry.finished:
            self._lead(entry)
        if entry.error is not None:
            raise entry.error

    def _await(self, entry: Entry[T]) -> None:
        """Until it is committed, or its turn to lead. Who is interrupted meanwhile must keep nobody waiting."""
        try:
            entry.gate.acquire()
        except BaseException:
            with self._mutex:
                entry.gone = True
                if entry in self._waiting:
                    self._waiting.remove(entry)
                _wake(self._pass_on() if entry.leads else None)
            _wake(entry.following)
            raise
        _wake(entry.following)

    def _pass_on(self) -> Entry[T] | None:
        """Who leads next. Under the mutex."""
        self._leading = bool(self._waiting)
        if not self._waiting:
            return None
        self._waiting[0].leads = True
        return self._waiting[0]

    def _lead(self, own: Entry[T]) -> None:
        """Commit what is waiting, this thread's own item among it, then let another lead."""
        batch = self._gathered()
        error: BaseException | None = None
        try:
            self._commit([entry.item for entry in batch])
        except BaseException as raised:  # everybody in the batch is told, each in its own thread
            error = raised
        with self._mutex:
            successor = self._pass_on()
            following: Entry[T] | None = None
            for entry in reversed(batch):
                entry.error, entry.finished = error, True
                if entry is not own and not entry.gone:
                    entry.following, following = following, entry
        _wake(successor)
        _wake(following)

    def _gathered(self) -> list[Entry[T]]:
        """What is waiting. Those who came the last time are given a moment to come again."""
        with self._mutex:
            if len(self._waiting) < self._expected:
                self._gathering = threading.Lock()
                self._gathering.acquire()
            gathering = self._gathering
        if gathering:
            gathering.acquire(timeout=GATHER_SECONDS)
        with self._mutex:
            batch, self._waiting = self._waiting, []
            self._expected, self._gathering = len(batch), None
        return batch


def _wake(entry: Entry[T] | None) -> None:
    if entry is not None:
        entry.gate.release()


class Later:
    """A background thread that acts once, a moment after it was asked to, however often it was asked."""

    def __init__(self, act: Callable[[], None], seconds: float) -> None:
        self._act = act
        self._seconds = seconds
        self._asked = False
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        if self._asked:
            return
        self._asked = True
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="muniment-commit", daemon=True)
            self._thread.start()
        self._wake.set()

    def end(self) -> None:
        self._ended.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._ended.wait(self._seconds)
            if self._ended.is_set():
                return
            self._wake.clear()
            self._asked = False
            self._act()
