"""Which blocks a query may look at: its filters, as conditions on `t`, a row of `texts`.

A round belongs to the engagement it is tagged with. Tags name an engagement by session prefix and number, or are words
of a person; one that begins like the round's own session means an engagement of that session. A subagent's work
belongs to the round during which it began.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muniment.errors import NotFound
from muniment.model import codec
from muniment.search.query import KINDS, Condition, Query, joined, of_round, of_session
from muniment.store import carried
from muniment.store.index import Index

MAIN_ROUND = """coalesce((SELECT max(m.round) FROM rounds m WHERE m.session_id = s.session_id
  AND m.started <= json_extract(c.facts, '$.started')), 1)"""
"""The round of the session during which a sidechain `c` began."""

_ROUNDS = """SELECT s.id, r.round FROM sessions s JOIN rounds r ON r.session_id = s.session_id
  LEFT JOIN engagements e ON e.engagement_id = r.engagement_id AND (e.session_id = r.session_id
    OR substr(r.engagement_id, 1, 9) <> substr(r.session_id, 1, 8) || '-')
WHERE {where}"""

_SIDECHAINS = """SELECT c.session, c.id FROM sidechains c JOIN sessions s ON s.id = c.session
WHERE (s.id, {round}) IN chosen_rounds"""

_CHOSEN = """CASE WHEN t.sidechain IS NULL
  THEN EXISTS (SELECT 1 FROM temp.chosen_rounds k WHERE k.session = t.session AND k.part = t.round)
  ELSE EXISTS (SELECT 1 FROM temp.chosen_sidechains k WHERE k.session = t.session AND k.part = t.sidechain) END"""
"""`IN` would be shorter; inside of a CASE it is worked out anew for every row."""

_SESSIONS = """SELECT s.id FROM sessions s LEFT JOIN ingested i ON i.session_id = s.session_id WHERE {where}"""


def narrow(index: Index, query: Query, sessions: Sequence[str] | None) -> Condition | None:
    """The condition on blocks; None if there is none. `sessions` are the only ones allowed.

    What is allowed is worked out once, into tables of this connection. What a session took over from another is left
    to that one, unless the query asks for the session, or for copies.
    """
    conditions = [*_of_kind(query), *_of_sessions(query, sessions)]
    if query.session is None and not query.copies and carried.find(index):
        conditions.append(Condition(carried.APART))
    if by_round := of_round(query):
        _choose_rounds(index, by_round)
        conditions.append(Condition(_CHOSEN))
    return Condition(*_tupled(joined(conditions))) if conditions else None


def _tupled(condition: tuple[str, list[Any]]) -> tuple[str, tuple[Any, ...]]:
    return condition[0], tuple(condition[1])


def _of_kind(query: Query) -> list[Condition]:
    if unknown := [name for name in query.kinds if name not in KINDS]:
        raise NotFound(f"there is no kind of block {unknown[0]!r}", f"say one of {', '.join(KINDS)}")
    kinds = tuple(KINDS[name] for name in query.kinds)
    return [Condition(f"t.kind IN ({','.join('?' * len(kinds))})", kinds)] if kinds else []


def _of_sessions(query: Query, sessions: Sequence[str] | None) -> list[Condition]:
    found: list[Condition] = []
    if conditions := of_session(query):
        where, values = joined(conditions)
        found.append(Condition(f"t.session IN ({_SESSIONS.format(where=where)})", tuple(values)))
    if sessions is not None:
        sql = "t.session IN (SELECT id FROM sessions WHERE session_id IN (SELECT value FROM json_each(?)))"
        found.append(Condition(sql, (codec.encode(list(sessions)).decode(),)))
    return found


def _choose_rounds(index: Index, conditions: Sequence[Condition]) -> None:
    where, values = joined(conditions)
    for table, part in (("chosen_rounds", "INTEGER"), ("chosen_sidechains", "TEXT")):
        columns = f"(session INTEGER, part {part}, PRIMARY KEY (session, part)) WITHOUT ROWID"
        index.db.execute(f"DROP TABLE IF EXISTS temp.{table}; CREATE TEMP TABLE {table} {columns}")
    index.db.execute(f"INSERT OR IGNORE INTO temp.chosen_rounds {_ROUNDS.format(where=where)}", values)
    index.db.execute(f"INSERT INTO temp.chosen_sidechains {_SIDECHAINS.format(round=MAIN_ROUND)}")
