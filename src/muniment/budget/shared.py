"""Which session a message counts for, where forks and resume copies hold it too: the one that made it.

Messages of subagents do not tell which that is: a copy for another agent has none of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from muniment.lineage.copies import MIN_ID_CHARS, written
from muniment.lineage.order import born, rank
from muniment.store import edits
from muniment.store.index import Index
from muniment.store.layout import Layout

_SHARED = f"""SELECT DISTINCT u.message_id, u.session FROM usage u WHERE u.session <> ?1 AND u.message_id IN
  (SELECT message_id FROM usage WHERE session = ?1 AND length(message_id) >= {MIN_ID_CHARS})"""


_ID = "SELECT session_id FROM sessions WHERE id = ?"


def owned_by_others(layout: Layout, index: Index, session_id: str) -> frozenset[str]:
    """Ids of messages of a session that count for another one."""
    own = index.rows("SELECT id FROM sessions WHERE session_id = ?", session_id)[0][0]
    holders: dict[str, set[int]] = {}
    for message_id, session in index.rows(_SHARED, own):
        holders.setdefault(message_id, {own}).add(session)
    if not holders:
        return frozenset()
    involved = {session for ids in holders.values() for session in ids}
    known = [*_noted(layout, index), *_forks(index, involved)]
    places = rank(_records(index, involved), _about(layout, index, involved), known)
    return frozenset(id_ for id_, ids in holders.items() if min(ids, key=lambda s: places[s]) != own)


def _records(index: Index, sessions: Iterable[int]) -> dict[int, dict[str, str]]:
    sql = """SELECT message_id, coalesce(at, '') FROM usage
      WHERE session = ? AND message_id IS NOT NULL AND sidechain IS NULL"""
    return {session: dict(index.rows(sql, session)) for session in sessions}


def _noted(layout: Layout, index: Index) -> list[tuple[int, int]]:
    """Which sessions were written from which."""
    notes = edits.continued(layout)
    keys = dict(index.rows("SELECT session_id, id FROM sessions")) if notes else {}
    pairs = ((keys.get(note.origin), keys.get(session)) for session, note in notes.items())
    return [(one, other) for one, other in pairs if one and other]


def _forks(index: Index, sessions: Iterable[int]) -> list[tuple[int, int]]:
    """Which of these sessions say that they were forked from which."""
    facts = {key: index.facts(id_) for key in sessions for (id_,) in index.rows(_ID, key)}
    keys = {name.lower(): key for key, own in facts.items() for name in (own.session_id, own.native_id) if name}
    forks = ((link.session, key) for key, own in facts.items() for link in own.links if link.kind == "fork")
    return [(keys[origin.lower()], key) for origin, key in forks if origin.lower() in keys]


def _about(layout: Layout, index: Index, sessions: Iterable[int]) -> dict[int, tuple[str, str, str]]:
    sql = "SELECT started, ended, agent_id, session_id FROM sessions WHERE id = ?"
    found: dict[int, tuple[str, str, str]] = {}
    for session in sessions:
        started, ended, agent_id, session_id = index.rows(sql, session)[0]
        found[session] = born(started, ended, written(layout.shelf(agent_id, session_id)), session_id)
    return found
