"""A database as it is at one moment, without a lock and without a trace.

A database at rest is read as it lies. One with a log beside it is in use: both are copied, and the copy takes the log
in. Either way the files are looked at again afterwards; what changed meanwhile is read once more.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import apsw

from muniment.sources import databases
from muniment.sources.databases import Guarded

T = TypeVar("T")
Signature = tuple[tuple[int, int, int], ...]

_TRIES = 5


class Snapshot(Guarded):
    """A database to be asked, and what can be read of it where it is damaged."""

    def __init__(self, db: apsw.Connection, size: int) -> None:
        super().__init__(db, size)
        self.size = size
        self.asked: dict[str, Guarded] = {}
        """Where the sessions of a table are read: here, or in what was salvaged."""
        self._salvaged: tuple[Guarded, list[str]] | None = None

    @property
    def most_bytes(self) -> int:
        """Of one session: more than what is stored with names for every row comes of rows that are told twice."""
        return 8 * self.size + (64 << 20)

    def salvaged(self) -> tuple[Guarded, list[str]]:
        """A copy of every row that can be read, and the tables that miss some."""
        self._salvaged = self._salvaged or databases.salvage(self)
        return self._salvaged


_open: dict[Path, tuple[Signature, Snapshot]] = {}
"""The last snapshot of each database in this process: a copy may be large."""


def consistently(path: Path, ask: Callable[[Snapshot], T]) -> T:
    """The answer of a database that did not change while it was asked."""
    for _ in range(_TRIES):
        before = _signature(path)
        try:
            known = _snapshot(path, before)
            known.begin()
            answer = ask(known)
        except databases.ERRORS:
            if before == _signature(path):
                raise
            continue
        if before == _signature(path):
            return answer
    raise OSError(f"{path} changes all the time")


def _signature(path: Path) -> Signature:
    """Changes whenever the database or its log does."""
    return tuple(_seen(file) for file in (path, _log_of(path)))


def _seen(path: Path) -> tuple[int, int, int]:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return (0, 0, 0)
    return (status.st_size, status.st_mtime_ns, status.st_ino)


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _snapshot(path: Path, signature: Signature) -> Snapshot:
    known = _open.get(path)
    if known and known[0] == signature:
        return known[1]
    if known:
        del _open[path]
        known[1].close()
    made = _copied(path) if signature[1][0] else _as_it_lies(path)
    _open[path] = (signature, made)
    return made


def _as_it_lies(path: Path) -> Snapshot:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return Snapshot(apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags), path.stat().st_size)


def _copied(path: Path) -> Snapshot:
    """A copy with its log taken in; its file goes away with the connection."""
    with tempfile.TemporaryDirectory(prefix="muniment-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(path, copy)
        shutil.copyfile(_log_of(path), _log_of(copy))
        made: Any = apsw.Connection(str(copy))
        for pragma in ("locking_mode = EXCLUSIVE", "wal_checkpoint(TRUNCATE)", "journal_mode = DELETE"):
            made.execute(f"PRAGMA {pragma}").fetchall()
        return Snapshot(made, copy.stat().st_size)
