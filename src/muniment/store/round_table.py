"""Writing the specified tables `rounds` and `rounds_fts` together, in whichever database they are.

Not by triggers: with them these few rows took 11 % of the samples of an inscription, more than the full text of all
blocks. (Probably each trigger opens a savepoint, at which FTS5 writes out what it holds in memory; not verified.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muniment.store.rows import RoundRow

_COLUMNS = "rowid, session_id, round, user_preview, agent_preview"


def insert(db: Any, rows: Sequence[RoundRow], folder: str = "") -> None:
    """Add rows that are not there yet; their files lie in this folder, seen from the database."""
    first = (db.execute("SELECT max(rowid) FROM rounds").get or 0) + 1
    numbered = [(first + i, *row[:-1], folder + row.round_file) for i, row in enumerate(rows)]
    db.executemany(
        "INSERT INTO rounds(rowid, session_id, round, started, engagement_id, user_preview, agent_preview, tool_count,"
        " thinking_count, thinking_chars, token_count, round_file) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        numbered,
    )
    db.executemany(
        f"INSERT INTO rounds_fts({_COLUMNS}) VALUES (?,?,?,?,?)",
        [(number, row.session_id, row.round, row.user_preview, row.agent_preview) for (number, *_), row in
         zip(numbered, rows, strict=True)],
    )  # fmt: skip


def delete(db: Any, session_id: str, first: int = 1) -> None:
    """Remove a session's rows from round `first` on."""
    gone = list(db.execute(f"SELECT {_COLUMNS} FROM rounds WHERE session_id = ? AND round >= ?", (session_id, first)))
    db.executemany(f"INSERT INTO rounds_fts(rounds_fts, {_COLUMNS}) VALUES ('delete',?,?,?,?,?)", gone)
    db.execute("DELETE FROM rounds WHERE session_id = ? AND round >= ?", (session_id, first))
