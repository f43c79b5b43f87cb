"""The table of what answers cost. An answer counts once per session: a subagent that sums up a session begins with a
copy of all its answers, and some agents write old records again.

The transcript counts before its subagents, whichever comes first. An id alone proves no copy, its time must be the
same: some agents number the answers of every transcript from one on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muniment.store.rows import UsageRow, fit

Answer = tuple[str, str]
"""The id of an answer and its time."""

_INSERT = "INSERT INTO usage VALUES (?,?,?,?,?,?,?,?,?,?)"
_ANSWERS = """SELECT message_id, coalesce(at, ''), sidechain IS NOT NULL FROM usage
  WHERE session = ? AND message_id IS NOT NULL"""
_COPY = """DELETE FROM usage
  WHERE session = ? AND sidechain IS NOT NULL AND message_id = ? AND coalesce(at, '') = ?"""


class UsageTable:
    """Writes the rows of one session after the other."""

    def __init__(self, db: Any) -> None:
        self.db = db
        self.session = 0
        self.answers: dict[Answer, bool] = {}
        """The answers of that session, and whether a subagent has them. Loaded once, and only where there are
        subagents: rows come in batches, and to look through the table for each of them would take quadratic time."""

    def clear(self, session: int, sidechain: str | None, round_: int) -> None:
        """Delete the rows of a transcript from a round on."""
        own = "session = ? AND sidechain IS ? AND round >= ?"
        self.db.execute(f"DELETE FROM usage WHERE {own}", (session, fit(sidechain), round_))
        if self.db.changes():
            self.session = 0

    def insert(self, session: int, rows: Sequence[UsageRow]) -> None:
        """Add rows, without those that copy an answer which is there."""
        if self.session == session or self._has_subagents(session, rows):
            self._load(session)
            rows = [row for row in rows if self._is_counted(session, row)]
        self.db.executemany(_INSERT, [(session, *row) for row in rows])

    def _has_subagents(self, session: int, rows: Sequence[UsageRow]) -> bool:
        if any(row[2] is not None for row in rows):
            return True
        return any(self.db.execute("SELECT 1 FROM sidechains WHERE session = ? LIMIT 1", (session,)))

    def _load(self, session: int) -> None:
        if self.session != session:
            self.session = session
            self.answers = {(id_, at): bool(side) for id_, at, side in self.db.execute(_ANSWERS, (session,))}

    def _is_counted(self, session: int, row: UsageRow) -> bool:
        """Whether a row counts; if it does, a copy of it no longer does."""
        id_, _, sidechain, _, at, *_ = row
        if not id_:
            return True
        answer = (id_, at or "")
        known = self.answers.get(answer)
        if sidechain is not None and known is not None:
            return False
        if known:
            self.db.execute(_COPY, (session, *answer))
        self.answers[answer] = sidechain is not None
        return True
