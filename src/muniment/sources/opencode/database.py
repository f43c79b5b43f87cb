"""Sessions in opencode's database, each as the document that `opencode export` would give.

A session's rows become one document, always the same for the same rows. Its bytes are the evidence, and a restore
gives that document back, which `opencode import` takes; the database itself is never written. Rows that have no place
in the document (the session's own as it is, its tasks) go into a second file beside it.

Version 2 has tables of its own in the same database, and a session that is there is read from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import apsw

from muniment import files
from muniment.sources import databases
from muniment.sources.base import SourceFile, head_of
from muniment.sources.databases import MAGIC, Guarded
from muniment.sources.opencode import damage, flat_rows, part_rows
from muniment.sources.opencode.records import identity
from muniment.sources.opencode.rows import a_time, of_session
from muniment.sources.opencode.snapshot import Snapshot, consistently

__all__ = ["MAGIC", "content", "holds", "is_ours", "of", "sessions"]

ROWS = ".rows.jsonl"
"""Ends the name of the file with what the document has no place for."""

_NAMED = re.compile(r"(.*\.db)(-wal)?")
_OURS = re.compile(r"opencode[^/]*\.db")
_CREATED = re.compile(rb"""CREATE TABLE ["`\[]?(\w+)""", re.IGNORECASE)
_PLACE = re.compile(r"(.*\.db)#(.*)#[0-9a-f-]{36}", re.DOTALL)

Files = dict[str, list[SourceFile]]
"""By the ids of sessions."""
Sessions = list[tuple[str, list[SourceFile]]]


class Rows(Protocol):
    """How a version keeps its sessions."""

    TABLE: str
    """Where each session has a row."""
    TABLES: dict[str, tuple[str, ...]]
    """The tables, and the columns that are asked for."""

    def sizes(self, db: Guarded) -> Any: ...

    def measured(self, db: Guarded, native: str, known: Any) -> tuple[int | None, int]: ...

    def document(self, db: Guarded, native: str) -> Iterator[bytes]: ...

    def rest(self, db: Guarded, native: str) -> Iterator[bytes]: ...


_VERSIONS: tuple[Rows, ...] = (flat_rows, part_rows)


def of(path: Path) -> Path | None:
    """The database that a file is, or is the log of, by its name."""
    named = _NAMED.fullmatch(str(path))
    return Path(named[1]) if named else None


def is_ours(path: Path) -> bool:
    """Whether a database has opencode's tables, as views too; one that cannot be asked goes by its name or its text."""
    made = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
    try:
        names = consistently(path, lambda db: {name for (name,) in db.rows(made)})
    except (*databases.ERRORS, OSError):
        created = {table.decode() for table in _CREATED.findall(head_of(path))}
        return bool(_OURS.fullmatch(path.name)) or _known(created)
    return _known(names)


def _known(names: Iterable[str]) -> bool:
    return any(set(names) >= rows.TABLES.keys() for rows in _VERSIONS)


def holds(file: SourceFile) -> bool:
    """Whether a file is made of rows."""
    return bool(_PLACE.fullmatch(file.path))


# -- finding


def sessions(path: Path, folder: str) -> Sessions:
    """Every session that can be read, with the files that are made of it; what cannot is refused by its name."""
    refused: dict[Path, str] = {}
    try:
        found = consistently(path, lambda db: _Look(db, path, folder, refused).sessions())
    except (*databases.ERRORS, OSError) as error:
        found, refused = [], {path: databases.what_is_wrong(error)}
    for place, why in refused.items():
        files.refuse(place, f"{files.UNREADABLE}: {why}")
    return found


class _Look:
    """One look at a database: as it lies, and where it is damaged, at what can be read of it."""

    def __init__(self, db: Snapshot, path: Path, folder: str, refused: dict[Path, str]) -> None:
        self.db = db
        self.path, self.folder = path, folder
        self.refused = refused
        self.refused.clear()  # it may be looked at again
        self.found: Files = {}

    def sessions(self) -> Sessions:
        """A session that was carried over is one."""
        for rows in self._versions():
            try:
                damage.find(self.db, rows.TABLES)
                ids, known = self._ids(rows, self.db), _sizes(rows, self.db)
            except databases.DAMAGED as error:
                ids, known = self._salvaged_ids(rows, error), None
            self._measure(rows, ids, known)
        return list(self.found.items())

    def _versions(self) -> list[Rows]:
        """The versions whose tables are there; a database with none of them, or with other columns, is refused."""
        known = self.db.columns()
        present = [rows for rows in _VERSIONS if known.keys() >= rows.TABLES.keys()]
        wanted = [(table, column) for rows in present for table, all_ in rows.TABLES.items() for column in all_]
        if lacking := next((each for each in wanted if each[1] not in known[each[0]]), None):
            self.refused[self.path] = f"its table {lacking[0]} does not store a column {lacking[1]}"
            return []
        if known and not present:
            self.refused[self.path] = "it has not the tables of a known version of opencode"
        return present

    def _ids(self, rows: Rows, db: Guarded) -> list[str]:
        """The ids of all sessions in their order; one that is no text, or none at all, is refused."""
        found: list[str] = []
        for (number,) in db.rows(f"SELECT rowid FROM {rows.TABLE} ORDER BY time_created, id"):
            try:
                ((native,),) = db.rows(f"SELECT id FROM {rows.TABLE} WHERE rowid = ?", number)
            except ValueError:
                native = None
            if isinstance(native, str) and native:
                found.append(native)
            else:
                self.refused[Path(f"{self.path}#{rows.TABLE}#{number}")] = "the id of this session is no text"
        return found

    def _salvaged_ids(self, rows: Rows, error: Exception) -> list[str]:
        """The ids that can be read of a damaged database, and those that only an index has."""
        made, missing = self.db.salvaged()
        why = databases.what_is_wrong(error)
        self.refused[self.path] = f"{why}; rows are missing from {', '.join(missing)}" if missing else why
        return list(dict.fromkeys([*self._ids(rows, made), *damage.ids_in_index(self.db, rows.TABLE)]))

    def _measure(self, rows: Rows, wanted: Iterable[str], known: Any) -> None:
        """Find the files of these sessions; one that fails hides no other."""
        for native in wanted:
            if native not in self.found:
                try:
                    self.found[native] = self._files(rows, native, known)
                except databases.ERRORS as error:
                    self.refused[Path(f"{self.path}#{native}")] = databases.what_is_wrong(error)

    def _files(self, rows: Rows, native: str, known: Any) -> list[SourceFile]:
        asked = _asked(self.db, rows)
        if asked is self.db and known:
            size, changed = rows.measured(asked, native, known)
        else:
            size, changed = None, a_time(of_session(asked, rows.TABLE, native).get("time_updated"))
        if size is None:
            size = sum(map(len, _limited(rows.document(asked, native), self.db.most_bytes)))
        beside, missing = _rest(self.db, rows, native)
        if missing:
            self.refused.setdefault(self.path, f"rows are missing from {', '.join(missing)}")
        document = self._file(native, ".json", "main", size, changed)
        return [document, self._file(native, ROWS, "side", sum(map(len, beside)), changed)]

    def _file(self, native: str, end: str, role: Any, size: int, changed: int) -> SourceFile:
        mark = f"{native}{ROWS}" if end == ROWS else native
        path = f"{self.path}#{mark}#{identity(native)}"
        return SourceFile(path, f"{self.folder}/{native}{end}", role, size, changed * 1_000_000)


def _sizes(rows: Rows, db: Guarded) -> Any:
    """The sizes of all documents at once; None where that fails, and each must be made on its own."""
    try:
        return rows.sizes(db) if db.encoding == "UTF-8" else None
    except databases.ERRORS as error:
        if isinstance(error, databases.DAMAGED):
            raise
        return None


# -- making the files


def _limited(pieces: Iterable[bytes], most: int) -> Iterator[bytes]:
    """The pieces of a file that is no larger than what was stored can be."""
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > most:
            raise apsw.TooBigError("more than the database can hold")
        yield piece


def content(file: SourceFile) -> bytes:
    """The bytes of a file that is made of rows."""
    place = _PLACE.fullmatch(file.path)
    assert place, "asked for what lies in a database"
    try:
        return consistently(Path(place[1]), lambda db: _made(db, place[2]))
    except databases.ERRORS as error:
        raise OSError(f"{place[1]}: {databases.what_is_wrong(error)}") from error


def _made(db: Snapshot, mark: str) -> bytes:
    native = mark.removesuffix(ROWS)
    present = [rows for rows in _VERSIONS if db.columns().keys() >= rows.TABLES.keys()]
    holding = (rows for rows in present if db.rows(f"SELECT 1 FROM {rows.TABLE} WHERE id = ?", native))
    rows = next(holding, part_rows)
    if mark.endswith(ROWS):
        return b"".join(_rest(db, rows, native)[0])
    return b"".join(_limited(rows.document(_asked(db, rows), native), db.most_bytes))


def _asked(db: Snapshot, rows: Rows) -> Guarded:
    """Where to read sessions: in the database, or if it is damaged and has no index, in what was salvaged of it."""
    if rows.TABLE not in db.asked:
        db.asked[rows.TABLE] = db if damage.is_indexed(db, rows.TABLES) or _is_whole(db, rows) else db.salvaged()[0]
    return db.asked[rows.TABLE]


def _is_whole(db: Snapshot, rows: Rows) -> bool:
    try:
        damage.find(db, rows.TABLES)
        _sizes(rows, db)
    except databases.DAMAGED:
        return False
    return True


def _rest(db: Snapshot, rows: Rows, native: str) -> tuple[list[bytes], list[str]]:
    """What has no place in the document; where a table is damaged, what can be read, and which tables miss some."""
    try:
        return list(_limited(rows.rest(_asked(db, rows), native), db.most_bytes)), []
    except databases.DAMAGED:
        made, missing = db.salvaged()
        return list(_limited(rows.rest(made, native), db.most_bytes)), missing
