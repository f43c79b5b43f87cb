"""`session.db`: one session's rounds, in the specified tables. Small, derived, replaced whole by rename."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

import apsw

from muniment import files
from muniment.store import schema
from muniment.store.layout import Shelf
from muniment.store.rows import RoundRow


def write(shelf: Shelf, first: int, rows: Sequence[RoundRow]) -> list[RoundRow]:
    """Replace the rows from round `first` on; gives all rows, for the listing."""
    temporary = files.temporary_beside(shelf.database)
    temporary.unlink(missing_ok=True)
    if first > 1 and shelf.database.exists():
        shutil.copyfile(shelf.database, temporary)
        temporary.chmod(files.FILE_MODE)
    else:
        files.open_new(temporary).close()
    db: Any = apsw.Connection(str(temporary))
    try:
        every = _fill(db, first, rows)
    finally:
        db.close()
    temporary.replace(shelf.database)
    return every


def _fill(db: Any, first: int, rows: Sequence[RoundRow]) -> list[RoundRow]:
    """The file is private until the rename, so no journal and no sync are needed."""
    db.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;")
    with db:
        db.execute(schema.ROUNDS)
        db.execute("DELETE FROM rounds WHERE round >= ?", (first,))
        db.executemany("INSERT INTO rounds VALUES (?,?,?,?,?,?,?,?,?,?,?)", rows)
    return [RoundRow(*row) for row in db.execute("SELECT * FROM rounds ORDER BY round")]
