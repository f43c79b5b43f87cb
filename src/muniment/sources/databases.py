"""Databases of agents, opened so that nothing that stands in one can do harm.

A database is also a program: views, generated columns and defaults give what was never stored, as much of it as they
like, and a damaged one leads anywhere. So only stored columns of real tables are asked for, by name; values, columns
and the text of the schema are limited, and so is the time that answers may take.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import apsw

MAGIC = b"SQLite format 3\0"
MAX_VALUE_BYTES = 128 << 20
"""Of one value; twice what a line may have that is read at all."""
MAX_SCHEMA_BYTES = 1 << 16
"""Of the text that makes one table: defaults stand there, and count for every row."""
SECONDS = 20.0
BYTES_PER_SECOND = 4 << 20
"""Processor time that answers may take: so much, and more for a large database."""

DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.IOError)
"""What SQLite raises where a file is not what it should be."""
ERRORS = (apsw.Error, ValueError, OverflowError, MemoryError)
"""What asking an odd database may raise; text that is none is a ValueError."""

_LIMITS = (
    (apsw.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
    (apsw.SQLITE_LIMIT_SQL_LENGTH, MAX_SCHEMA_BYTES),
    (apsw.SQLITE_LIMIT_COLUMN, 500),
    (apsw.SQLITE_LIMIT_ATTACHED, 0),
    (apsw.SQLITE_LIMIT_WORKER_THREADS, 0),
)
_SETTINGS = (
    (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
    (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
)
_GENERATED = (2, 3)
STEPS = 20_000
"""Of the machine inside SQLite, between two looks at the clock."""


class Guarded:
    """A database to be asked."""

    def __init__(self, db: apsw.Connection, size: int) -> None:
        self.db: Any = db
        self.most_seconds = SECONDS + size / BYTES_PER_SECOND
        self.until = 0.0
        self._columns: dict[str, list[str]] | None = None
        self._encoding: str | None = None
        for limit, value in _LIMITS:
            self.db.limit(limit, value)
        for setting, value in _SETTINGS:
            self.db.config(setting, value)
        self.db.set_progress_handler(lambda: time.thread_time() > self.until, STEPS)
        self.begin()

    def begin(self) -> None:
        """Let the time for answers run from now on."""
        self.until = time.thread_time() + self.most_seconds

    def each(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """The answer to one question, row by row."""
        yield from self.db.execute(query, values)

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The whole answer to one question."""
        return list(self.each(query, *values))

    def values(self, columns: Sequence[str], query: str, *values: Any) -> Iterator[list[Any]]:
        """The values of columns, row by row; text that is none is told all the same (`surrogateescape`)."""
        asked = ", ".join(
            f"CASE typeof({c}) WHEN 'text' THEN CAST({c} AS BLOB) ELSE {c} END, typeof({c})" for c in columns
        )
        for row in self.each(f"SELECT {asked} {query}", *values):
            yield [self._text(row[at]) if row[at + 1] == "text" else row[at] for at in range(0, len(row), 2)]

    @property
    def encoding(self) -> str:
        """In which text is stored."""
        if self._encoding is None:
            self._encoding = str(self.rows("PRAGMA encoding")[0][0])
        return self._encoding

    def _text(self, raw: bytes) -> str:
        return raw.decode(self.encoding, "surrogateescape" if self.encoding == "UTF-8" else "replace")

    def columns(self) -> dict[str, list[str]]:
        """Every real table with its stored columns; a view is none, and neither is a table that a module makes up."""
        if self._columns is None:
            made = self.rows("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            names = [name for name, sql in made if isinstance(name, str) and _is_stored(sql)]
            self._columns = {name: self._stored_in(name) for name in names}
        return self._columns

    def _stored_in(self, table: str) -> list[str]:
        told = self.rows(f"PRAGMA table_xinfo({quoted(table)})")
        return [str(row[1]) for row in told if row[6] == 0]

    def close(self) -> None:
        self.db.close()


def _is_stored(sql: Any) -> bool:
    return isinstance(sql, str) and sql.split(None, 2)[1:2] != ["VIRTUAL"]


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def as_bytes(value: Any) -> bytes:
    """A value that is text or bytes; a number is neither, and would ask for so many zeros."""
    return (
        value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value if type(value) is bytes else b""
    )


def what_is_wrong(error: BaseException) -> str:
    """The reason why a database cannot be read, in one line."""
    if isinstance(error, apsw.InterruptError):
        return "the database takes too long to answer"
    if isinstance(error, apsw.TooBigError):
        return "a value in the database is too large"
    if isinstance(error, UnicodeDecodeError):
        return "a text in the database is not in UTF-8"
    return f"the database is damaged or of an unknown kind ({' '.join(str(error).split()) or type(error).__name__})"


# -- a copy of what can be read


MOST_TRIES = 10_000
"""Places of one table that are tried, before what lies between them is given up."""
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def salvage(damaged: Guarded) -> tuple[Guarded, list[str]]:
    """A database with every row of a damaged one that can be read, and the tables that miss some."""
    made = Guarded(apsw.Connection(""), 0)
    made.most_seconds = damaged.most_seconds
    made.begin()
    missing = [table for table, columns in damaged.columns().items() if not _copied(damaged, made, table, columns)]
    for table, columns in damaged.columns().items():
        for number, column in enumerate(columns):
            if column == "id" or column.endswith("_id"):
                index = quoted(f"{table} by {number}")
                made.db.execute(f"CREATE INDEX {index} ON {quoted(table)} ({quoted(column)})")
    made.begin()
    return made, missing


def _copied(damaged: Guarded, made: Guarded, table: str, columns: Iterable[str]) -> bool:
    """Copy what can be read of a table; tells whether that is all of it."""
    listed = ", ".join(map(quoted, columns))
    made.db.execute(f"CREATE TABLE {quoted(table)} ({listed})")
    get = f"SELECT rowid, {listed} FROM {quoted(table)} NOT INDEXED"
    put = f"INSERT INTO {quoted(table)} (rowid, {listed}) VALUES (?{', ?' * len(list(columns))})"
    whole, tries, waiting = True, 0, [(_LEAST, _MOST)]
    with made.db:
        while waiting and tries < MOST_TRIES:
            low, high = waiting.pop()
            low = _taken(damaged, made, get, put, low, high, 1)
            if low <= high:
                whole, tries = False, tries + 1
                high = _taken(damaged, made, get, put, low, high, -1)
            if low < high:
                middle = (low + high) // 2
                waiting += [(low, middle), (middle + 1, high)]
    return whole


def _taken(damaged: Guarded, made: Guarded, query: str, put: str, low: int, high: int, step: int) -> int:
    """Copy rows from one end of a range until one cannot be read; gives the next number, or one beyond."""
    order = "ASC" if step > 0 else "DESC"
    at, beyond = (low, high + 1) if step > 0 else (high, low - 1)
    try:
        for row in damaged.each(f"{query} WHERE rowid BETWEEN ? AND ? ORDER BY rowid {order}", low, high):
            with suppress(apsw.ConstraintError):  # in a damaged tree two rows may have one number
                made.db.execute(put, row)
            at = row[0] + step
    except apsw.InterruptError:
        raise
    except ERRORS:
        return at
    return beyond
