"""Sessions in opencode's database, each as the document that `opencode export` would give.

A session's rows become one document, always the same for the same rows. Its bytes are the evidence, and a restore
gives that document back, which `opencode import` takes; the database itself is never written. Rows that have no place
in the document (the session's own as it is, its tasks) go into a second file beside it.

Version 2 has tables of its own in the same database, and a session that is there is read from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import apsw

from muniment.sources.base import SourceFile
from muniment.sources.opencode import flat_rows, part_rows
from muniment.sources.opencode.records import identity
from muniment.sources.opencode.rows import tables
from muniment.sources.opencode.snapshot import Snapshot, consistently

MAGIC = b"SQLite format 3\0"
ROWS = ".rows.jsonl"
"""Ends the name of the file with what the document has no place for."""

_NAMED = re.compile(r"(.*\.db)(-wal)?")
_PLACE = re.compile(r"(.*\.db)#(.*)#[0-9a-f-]{36}", re.DOTALL)


class Rows(Protocol):
    """How a version keeps its sessions."""

    TABLE: str
    """Where each session has a row."""
    TABLES: frozenset[str]

    def measured(self, db: Snapshot, wanted: Sequence[str]) -> Iterator[tuple[str, int, int]]: ...

    def document(self, db: Snapshot, native: str) -> Iterator[bytes]: ...

    def rest(self, db: Snapshot, native: str) -> Iterator[bytes]: ...


_VERSIONS: tuple[Rows, ...] = (flat_rows, part_rows)


def of(path: Path) -> Path | None:
    """The database that a file is, or is the log of, by its name."""
    named = _NAMED.fullmatch(str(path))
    return Path(named[1]) if named else None


def is_ours(path: Path) -> bool:
    """Whether a database has opencode's tables."""
    try:
        return consistently(path, lambda db: bool(_versions(db)))
    except (apsw.Error, OSError):
        return False


def sessions(path: Path, folder: str) -> list[tuple[str, list[SourceFile]]]:
    """Every session with the files that are made of it; nothing if the database cannot be read."""
    try:
        return consistently(path, lambda db: list(_sessions(db, path, folder)))
    except (apsw.Error, OSError):
        return []


def holds(file: SourceFile) -> bool:
    """Whether a file is made of rows."""
    return bool(_PLACE.fullmatch(file.path))


def content(file: SourceFile) -> bytes:
    """The bytes of a file that is made of rows."""
    place = _PLACE.fullmatch(file.path)
    assert place, "asked for what lies in a database"
    try:
        return consistently(Path(place[1]), lambda db: b"".join(_content(db, place[2])))
    except apsw.Error as error:
        raise OSError(f"{place[1]}: {error}") from error


def _content(db: Snapshot, mark: str) -> Iterator[bytes]:
    native = mark.removesuffix(ROWS)
    holding = (rows for rows in _versions(db) if db.rows(f"SELECT 1 FROM {rows.TABLE} WHERE id = ?", native))
    rows = next(holding, part_rows)
    return rows.rest(db, native) if mark.endswith(ROWS) else rows.document(db, native)


def _versions(db: Snapshot) -> list[Rows]:
    present = set(tables(db))
    return [rows for rows in _VERSIONS if present >= rows.TABLES]


def _sessions(db: Snapshot, path: Path, folder: str) -> Iterator[tuple[str, list[SourceFile]]]:
    """A session that was carried over is one."""
    seen: set[str] = set()
    for rows in _versions(db):
        found = [native for (native,) in db.rows(f"SELECT id FROM {rows.TABLE} ORDER BY time_created, id")]
        for native, size, changed in rows.measured(db, [native for native in found if native not in seen]):
            beside = sum(map(len, rows.rest(db, native)))
            document = _file(path, folder, native, ".json", "main", size, changed * 1_000_000)
            yield native, [document, _file(path, folder, native, ROWS, "side", beside, changed * 1_000_000)]
        seen.update(found)


def _file(path: Path, folder: str, native: str, end: str, role: Any, size: int, mtime: int) -> SourceFile:
    mark = f"{native}{ROWS}" if end == ROWS else native
    return SourceFile(f"{path}#{mark}#{identity(native)}", f"{folder}/{native}{end}", role, size, mtime)
