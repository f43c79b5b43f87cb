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
from typing import Any, TypeVar, cast
from urllib.parse import quote

import apsw

T = TypeVar("T")
Signature = tuple[tuple[int, int, int], ...]

_TRIES = 5


class Snapshot:
    """A database to be asked."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The answer to one question."""
        return cast("list[tuple[Any, ...]]", self.db.execute(query, values).fetchall())  # pyright: ignore[reportUnknownMemberType]


_open: dict[Path, tuple[Signature, Snapshot]] = {}
"""The last snapshot of each database in this process: a copy may be large."""


def consistently(path: Path, ask: Callable[[Snapshot], T]) -> T:
    """The answer of a database that did not change while it was asked."""
    for _ in range(_TRIES):
        before = _signature(path)
        try:
            answer = ask(_snapshot(path, before))
        except apsw.Error:
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
        known[1].db.close()
    made = _copied(path) if signature[1][0] else _as_it_lies(path)
    _open[path] = (signature, made)
    return made


def _as_it_lies(path: Path) -> Snapshot:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return Snapshot(apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags))


def _copied(path: Path) -> Snapshot:
    """A copy with its log taken in; its file goes away with the connection."""
    with tempfile.TemporaryDirectory(prefix="muniment-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(path, copy)
        shutil.copyfile(_log_of(path), _log_of(copy))
        made = Snapshot(apsw.Connection(str(copy)))
        for pragma in ("locking_mode = EXCLUSIVE", "wal_checkpoint(TRUNCATE)", "journal_mode = DELETE"):
            made.rows(f"PRAGMA {pragma}")
        return made
