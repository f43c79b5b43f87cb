"""Opening `sessions.db` to write, to read or only to look, and telling people what SQLite complains of."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from muniment import files
from muniment.errors import StoreError
from muniment.store import schema

BUSY_MS = 10_000
LOOK_SECONDS = 2.0
"""Of processor time: what one look at the index may cost a process that serves others."""
_CANNOT_WRITE = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.FullError, apsw.IOError)
_WITHOUT_LOCKS = "unix-none"
"""A way to open files that neither locks nor shares memory."""
_AGAIN = "`muniment reindex` builds it anew"
_MISSING = ("no such table", "no such column")
"""What SQLite says of an index whose version is right and whose tables are not: a development version made it."""


def to_write(path: Path) -> Any:
    """For the one process that writes."""
    db = _opened(path, apsw.SQLITE_OPEN_READWRITE)
    db.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-32768;")
    return db


def to_read(path: Path) -> Any:
    """Reading needs to write a little (the shared memory of the log); where it cannot, nobody else writes."""
    try:
        return _opened(path, apsw.SQLITE_OPEN_READWRITE)
    except _CANNOT_WRITE:
        return _unchanging(path)


def to_look(path: Path) -> Any:
    """SQLite itself refuses to write here, and a query that takes too long is ended."""
    try:
        db = _opened(path, apsw.SQLITE_OPEN_READONLY)
    except _CANNOT_WRITE:
        db = _unchanging(path)
    until = time.thread_time() + LOOK_SECONDS
    db.set_progress_handler(lambda: time.thread_time() > until, 20_000)
    return db


def _opened(path: Path, flags: int) -> Any:
    if files.is_irregular(path):  # SQLite would wait for somebody to write into a pipe
        raise StoreError(f"{path}: not a regular file", "move it away; `muniment reindex` builds the index anew")
    db: Any = apsw.Connection(str(path), flags=flags)
    db.set_busy_timeout(BUSY_MS)
    return _of_this_version(db, path)


def _unchanging(path: Path) -> Any:
    """The index of a disk that is full or read-only, read without writing a byte.

    What a log beside it holds is committed and counts: then SQLite keeps in its own memory what it would share."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    if not files.changed_at(path.with_name(f"{path.name}-wal"))[1]:
        db: Any = apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags)
    else:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=_WITHOUT_LOCKS)
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.execute("PRAGMA temp_store = MEMORY")
    return _of_this_version(db, path)


def _of_this_version(db: Any, path: Path) -> Any:
    version = db.execute("PRAGMA user_version").get
    if version != schema.SCHEMA_VERSION:
        raise StoreError(f"{path}: index version {version}", _AGAIN)
    return db


@contextlib.contextmanager
def told_plainly(path: Path) -> Generator[None]:
    """What SQLite complains of, as an error for people."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreError(f"{path}: damaged index ({error})", _AGAIN) from error
    except apsw.InterruptError as error:
        raise StoreError("that takes too long to look up", "ask for less, or narrow it by a filter") from error
    except apsw.Error as error:
        if isinstance(error, apsw.SQLError) and str(error).startswith(_MISSING):
            raise StoreError(f"{path}: index of another version ({error})", _AGAIN) from error
        hint = "is the disk full, or the store not yours to write?"
        raise StoreError(f"{path}: {str(error) or type(error).__name__}", hint) from error
