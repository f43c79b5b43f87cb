"""The third channel: one file per subagent, durable when the subagent ends, however it ends.

The parent gets a completion status and a summary and never reads the file. All sidechains of a project share a budget
of bytes: a runaway subagent must not fill the disk.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from msgspec import Struct

from muniment import files
from muniment.errors import NotRecorded
from muniment.model.events import HEADER, TERMINATOR, Event
from muniment.record.clock import now
from muniment.record.log import Ack, Log
from muniment.record.permissions import refuse_grants
from muniment.record.transcript import safe_id
from muniment.sources.dialect import Dialect

FOLDER = ".sidechains"
MAX_BYTES = 1 << 30
"""Of all sidechains of a project together."""
_LOOK_AGAIN_BYTES = 1 << 20
"""How much one subagent writes before it looks at what the others wrote."""

Status = Literal["completed", "failed", "terminated", "running"]


class Result(Struct, frozen=True):
    """All that a parent learns of its subagent."""

    task_id: str
    status: Status
    summary: str = ""
    error: str = ""
    """What ended a subagent that had set its summary; without one, the summary tells it."""

    @property
    def said(self) -> dict[str, str]:
        """As the parent's transcript tells it."""
        told = {"task_id": self.task_id, "status": self.status, "summary": self.summary}
        return told | ({"error": self.error} if self.error else {})


class Sidechain:
    """A subagent's own record."""

    def __init__(self, folder: Path, task_id: str, dialect: Dialect, parent: str | None, max_bytes: int) -> None:
        self.task_id = safe_id(task_id)
        self.path = folder / f"{task_id}.jsonl"
        self.dialect = dialect
        self.max_bytes = max_bytes
        self.status: Status = "running"
        self.summary = ""
        self.error = ""
        self._log = Log(self.path, dialect)
        self._last: str | None = None
        self._budget = 0
        """What may be written before looking at what the others wrote."""
        self.append(HEADER, {"session_id": task_id, "start_ts": now(), "resumed_from": None, "parent": parent})

    def append(self, type_: str, payload: Any, durable: bool = False) -> Ack:
        """Record something the subagent did. Grants are refused here, too."""
        refuse_grants(type_, payload)
        return self._put(type_, payload, durable, self._spend)

    def finish(self, status: Status, summary: str = "", error: str = "") -> Result:
        """The end: on disk when this returns. The last word is written even when the budget is spent."""
        if self.status == "running":
            self.status, self.summary, self.error = "failed", summary, error
            try:
                said = {"end_ts": now(), "status": status, "summary": summary} | ({"error": error} if error else {})
                self._put(TERMINATOR, said, durable=True, spend=lambda _: None)
                self.status = status
            finally:
                self._log.close()
        return self.result

    @property
    def result(self) -> Result:
        return Result(self.task_id, self.status, self.summary, self.error)

    def _put(self, type_: str, payload: Any, durable: bool, spend: Callable[[int], None]) -> Ack:
        event = Event(type_, now(), self.dialect.new_id(), self._last, payload)
        (written,) = self.dialect.lines([event])
        spend(len(written.line) + 1)
        ack = self._log.append(written, durable)
        self._last = event.uuid
        return ack

    def _spend(self, size: int) -> None:
        if size > self._budget:
            left = self._left()
            if size > left:
                raise NotRecorded(
                    f"{self.path.parent}: the sidechains may hold {self.max_bytes} bytes, and this would be more",
                    "is a subagent running wild? Archive the old ones and delete them",
                )
            self._budget = max(size, min(left, _LOOK_AGAIN_BYTES))
        self._budget -= size

    def _left(self) -> int:
        """What all sidechains may still grow by."""
        with os.scandir(self.path.parent) as entries:
            mine = [Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)]
        return self.max_bytes - sum(files.changed_at(path)[1] for path in mine)  # another may have gone since


@contextlib.contextmanager
def ended_by_sigterm() -> Generator[None]:
    """While this lasts, SIGTERM unwinds the program like an exception, so that every open file is closed on the way.

    Only where nobody else handles it, and only in the main thread: elsewhere signals do not arrive."""
    mine = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not mine:
        yield
        return
    signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


@contextlib.contextmanager
def run(chain: Sidechain, done: Callable[[Result], None]) -> Generator[Sidechain]:
    """A subagent's life: whichever way the block is left, the file is durable and the parent is told."""
    with ended_by_sigterm():
        try:
            yield chain
        except BaseException as error:
            status: Status = "terminated" if isinstance(error, (SystemExit, KeyboardInterrupt)) else "failed"
            _end(chain, done, status, f"{type(error).__name__}: {error}")
            raise
        _end(chain, done, "completed")


def _end(chain: Sidechain, done: Callable[[Result], None], status: Status, error: str = "") -> None:
    """The summary that was set stays the summary, whatever went wrong behind it."""
    try:
        chain.finish(status, chain.summary or error, error if chain.summary else "")
    finally:
        done(chain.result)
