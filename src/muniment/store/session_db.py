"""`session.db`: one session's rounds, in the specified tables. Small, derived, replaced whole by rename."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import apsw

from muniment import files
from muniment.store import schema
from muniment.store.layout import Shelf
from muniment.store.rows import RoundRow


def write(shelf: Shelf, first: int, rows: Sequence[RoundRow]) -> list[RoundRow]:
    """Replace the rows from round `first` on; gives all rows, for the listing.

    The database is built in memory and written in one piece, which is several times faster than on disk.
    """
    db: Any = apsw.Connection(":memory:")
    db.deserialize("main", _before(shelf, first))
    try:
        with db:
            db.execute("DELETE FROM rounds WHERE round >= ?", (first,))
            db.executemany("INSERT INTO rounds VALUES (?,?,?,?,?,?,?,?,?,?,?)", rows)
        every = [RoundRow(*row) for row in db.execute("SELECT * FROM rounds ORDER BY round")]
        files.write_atomic(shelf.database, [db.serialize("main")])
    finally:
        db.close()
    return every


def tag(shelf: Shelf, round_: int, engagement_id: str | None) -> list[RoundRow]:
    """Set the engagement of a round; gives all rows, for the listing."""
    db: Any = apsw.Connection(":memory:")
    db.deserialize("main", shelf.database.read_bytes())
    try:
        db.execute("UPDATE rounds SET engagement_id = ? WHERE round = ?", (engagement_id, round_))
        files.write_atomic(shelf.database, [db.serialize("main")])
        return [RoundRow(*row) for row in db.execute("SELECT * FROM rounds ORDER BY round")]
    finally:
        db.close()


def _before(shelf: Shelf, first: int) -> bytes:
    """The database as it was, or an empty one."""
    if first > 1 and shelf.database.exists():
        return shelf.database.read_bytes()
    return _empty()


@cache
def _empty() -> bytes:
    db: Any = apsw.Connection(":memory:")
    db.execute(schema.ROUNDS)
    data: bytes = db.serialize("main")
    db.close()
    return data
