"""Writing and reading the tables of what sessions were understood as: `ingested`, `engagements` and its full text."""

from __future__ import annotations

from typing import Any

from muniment.model import codec
from muniment.model.engagements import Ingested, KeptEngagement
from muniment.store.rows import fit, storable
from muniment.store.words import indexed


def insert(db: Any, record: Ingested) -> None:
    """Add a session that is not there."""
    about = (record.agent_name, record.agent_name_from, record.agent_role, record.slug)
    db.execute(
        "INSERT INTO ingested VALUES (?,?,?,?,?,?,?,?,?)",
        (
            record.session_id,
            record.state,
            fit(record.extractor),
            record.ghost,
            *map(fit, about),
            fit(record.session_summary) or "",
        ),
    )
    for engagement in record.engagements:
        db.execute("INSERT INTO engagements VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?,?,?)", _row(record, engagement))
        body = storable(searchable(record, engagement))
        sql = "INSERT INTO engagements_fts(rowid, body, aux) VALUES (?,?,?)"
        seen, hidden = indexed(body)
        db.execute(sql, (db.last_insert_rowid(), seen.decode(), hidden))


def _row(record: Ingested, e: KeptEngagement) -> tuple[Any, ...]:
    return (
        e.engagement_id,
        record.session_id,
        fit(e.topic),
        fit(e.project),
        e.method,
        e.phase,
        codec.encode(e.key_decisions).decode(),
        fit(e.outcome),
        codec.encode(e.next_steps).decode(),
        codec.encode(e.turn_ranges).decode(),
        fit(e.started),
        fit(e.ended),
        fit(e.extractor),
    )


def searchable(record: Ingested, e: KeptEngagement) -> str:
    """The words by which an engagement is found: its own, and those of its session."""
    own = (e.topic, e.project, e.method, e.phase, e.outcome, *e.key_decisions, *e.next_steps)
    whole = (record.session_summary, record.title, record.agent_name, record.agent_role, record.slug, record.branch)
    return "\n".join(words for words in (*own, *whole) if words)


def delete(db: Any, session_id: str) -> None:
    """Remove what is known of a session."""
    sql = "DELETE FROM engagements_fts WHERE rowid IN (SELECT id FROM engagements WHERE session_id = ?)"
    db.execute(sql, (session_id,))
    for table in ("engagements", "ingested"):
        db.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))


def states(db: Any) -> dict[str, tuple[str, str | None]]:
    """For every session that was ingested: its state then, and what made it."""
    rows = db.execute("SELECT session_id, state, extractor FROM ingested")
    return {session_id: (state, extractor) for session_id, state, extractor in rows}
