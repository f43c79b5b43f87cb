"""Writing the tables of what can be searched for: `texts`, one row for each piece of a session, and its full text.

The full text keeps no words (it is contentless), so it cannot forget a row unless it is told them again, and row
numbers only ever grow. Rows of records that have not changed are therefore left where they are. Words of rows that are
gone are found by nobody, and go for good when something is forgotten (`scrub`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muniment.store.rows import Place, Span, TextRow, fit

_OWN = "session = ? AND sidechain IS ?"


def insert(db: Any, key: int, rows: Sequence[TextRow]) -> None:
    """Add rows under numbers that were never used."""
    known = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'texts'").get
    first = (known or 0) + 1
    db.executemany(
        "INSERT INTO texts(id, session, round, kind, tool, sidechain, offset) VALUES (?,?,?,?,?,?,?)",
        [(first + i, key, *place) for i, (place, _) in enumerate(rows)],
    )
    db.executemany(
        "INSERT INTO texts_fts(rowid, body, aux) VALUES (?,?,?)",
        [(first + i, *words) for i, (_, words) in enumerate(rows)],
    )


def clear(db: Any, key: int, sidechain: str | None, offset: int, same: Span) -> None:
    """Remove the rows of records from a byte on, but for those that are the same and have only moved."""
    own = (key, fit(sidechain))
    gone = f"DELETE FROM texts WHERE {_OWN} AND offset >= ? AND NOT (offset >= ? AND offset < ?)"
    db.execute(gone, (*own, offset, same.start, same.end))
    if same.moved:
        db.execute(f"UPDATE texts SET offset = offset + ? WHERE {_OWN}", (same.moved, *own))


def move(db: Any, key: int, moves: Sequence[tuple[Place, Place | None]]) -> None:
    """Texts that turned out to belong to another round, or to be of another kind; None for those that are no more."""
    own = "session = ? AND round = ? AND kind = ? AND tool IS ? AND sidechain IS ? AND offset = ?"
    for place, new in moves:
        found = db.execute(f"SELECT id FROM texts WHERE {own} LIMIT 1", (key, *place)).get
        if new is None:
            db.execute("DELETE FROM texts WHERE id = ?", (found,))
        else:
            db.execute("UPDATE texts SET round = ?, kind = ?, tool = ? WHERE id = ?", (*new[:3], found))
