"""`session.db`: one session's rounds, in the specified tables. Small, derived, replaced whole by rename."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import apsw

from muniment import files
from muniment.errors import StoreError
from muniment.store import round_table, schema
from muniment.store.layout import DATABASE, Shelf
from muniment.store.rows import RoundRow


def write(
    shelf: Shelf, first: int, rows: Sequence[RoundRow], former: Callable[[], Sequence[RoundRow]]
) -> list[RoundRow]:
    """Replace the rows from round `first` on; gives all rows, for the listing.

    The database is built in memory and written in one piece, which is several times faster than on disk. If the
    one that is there cannot be used, `former` gives the rows before `first`.
    """
    db = _load(shelf, first) if first > 1 else None
    if db is None:
        every = [*(former() if first > 1 else ()), *rows]
        shelf.write(DATABASE, _made_of(every))
        return every
    try:
        with db:
            if rows:
                round_table.delete(db, rows[0].session_id, first)
            round_table.insert(db, rows)
        every = [RoundRow(*row) for row in db.execute("SELECT * FROM rounds ORDER BY round")]
        files.write_atomic(shelf.database, [db.serialize("main")])
    finally:
        db.close()
    return every


def tag(shelf: Shelf, tags: Mapping[int, str]) -> list[RoundRow]:
    """Set the engagements of all rounds; gives all rows, for the listing."""
    db = _load(shelf, 1)
    if db is None:
        raise StoreError(f"{shelf.database}: damaged", "`muniment reindex` builds it anew")
    try:
        rows = [RoundRow(*row) for row in db.execute("SELECT * FROM rounds ORDER BY round")]
        changed = [(tags.get(row.round), row.round) for row in rows if row.engagement_id != tags.get(row.round)]
        if changed:
            with db:
                db.executemany("UPDATE rounds SET engagement_id = ? WHERE round = ?", changed)
            files.write_atomic(shelf.database, [db.serialize("main")])
        return [row._replace(engagement_id=tags.get(row.round)) for row in rows]
    finally:
        db.close()


def _load(shelf: Shelf, first: int) -> Any:
    """The database as it was; None if it is lost, damaged, or lacks rows."""
    try:
        db: Any = apsw.Connection(":memory:")
        db.deserialize("main", files.read_regular(shelf.database))
        whole = db.execute("SELECT count(*) FROM rounds WHERE round < ?", (first,)).get == first - 1
    except (OSError, apsw.Error):
        return None
    return db if whole else None


def _made_of(rows: Sequence[RoundRow]) -> bytes:
    """A database with these rows: what the blank one looks like while it has them.

    Opening a database and preparing its statements takes several times as long as filling it, so one is kept, and
    what was put into it is taken back."""
    db = _blank(os.getpid())
    db.execute("BEGIN")
    try:
        round_table.insert(db, rows)
        db.execute("INSERT INTO rounds_fts(rounds_fts) VALUES ('flush')")  # else only a commit writes them
        return db.serialize("main")
    finally:
        db.execute("ROLLBACK")


@cache
def _blank(_process: int) -> Any:
    """A database without rows, for each process its own: none may use what another opened."""
    db: Any = apsw.Connection(":memory:")
    db.execute("PRAGMA page_size=1024")  # most sessions have a handful of rounds
    db.execute(schema.ROUNDS)
    return db
