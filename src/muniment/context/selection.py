"""Which rounds a pack is about: sessions by name, or whatever the index finds by engagement, words, file, project,
agent and date.

Everything that is given must hold. Nothing is decided here about how much of a round is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from muniment.errors import MunimentError, NotFound
from muniment.search import Query, find_touched, search
from muniment.search.query import Condition, joined, of_round, of_session, teach
from muniment.store import carried
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.rows import fit
from muniment.store.session_table import Listed

MOST_HITS = 500
Numbers = frozenset[int]
Ranges = tuple[tuple[int, int], ...]


class Selection(Struct, frozen=True):
    """What to look for; everything that is given must hold."""

    sessions: tuple[str, ...] = ()
    """Ids, unique prefixes, or `last`."""
    engagement: str | None = None
    query: str = ""
    file: str | None = None
    project: str | None = None
    agent: str | None = None
    since: str | None = None
    until: str | None = None
    rounds: Ranges = ()
    """Ranges, both ends included."""

    @property
    def narrow(self) -> bool:
        """Whether it picks rounds out of sessions."""
        return bool(self.engagement or self.query or self.file or self.rounds)

    @property
    def empty(self) -> bool:
        return self == Selection()


class Scope(Struct, frozen=True):
    """One session and the rounds of it that are meant."""

    session: Listed
    rounds: Numbers
    abandoned: Numbers
    """Of those, the ones that a rewind left behind."""


def select(layout: Layout, wanted: Selection) -> list[Scope]:
    """The sessions and rounds that are meant, the latest session first. Raises NotFound if there are none."""
    if wanted.empty:
        raise MunimentError(
            "nothing was selected", "name a session (`last`), or give --engagement, --query, --project, …"
        )
    with Index(layout) as index:
        teach(index)
        named = [index.find(name) for name in wanted.sessions]
        chosen = _by_conditions(index, wanted, named)
    for narrowing in (_by_query(layout, wanted), _by_file(layout, wanted)):
        if narrowing is not None:
            chosen = {id_: chosen[id_] & narrowing[id_] for id_ in chosen if id_ in narrowing}
    with Index(layout) as index:
        found = list(_scopes(index, {id_: numbers for id_, numbers in chosen.items() if numbers}))
    if not found:
        empty = wanted == Selection(sessions=wanted.sessions)
        what = "the session holds no conversation" if empty else "no round fits the selection"
        raise NotFound(what, "`muniment search` and `muniment sessions` show what there is")
    return found


def _scopes(index: Index, chosen: dict[str, Numbers]) -> Iterable[Scope]:
    found = [row for row in index.sessions() if row.session_id in chosen]
    for row in found:
        numbers = chosen[row.session_id]
        yield Scope(row, numbers, numbers & frozenset(index.abandoned(row.session_id)))


_ROUNDS = """SELECT s.session_id, r.round FROM sessions s JOIN rounds r ON r.session_id = s.session_id
  LEFT JOIN ingested i ON i.session_id = s.session_id
  LEFT JOIN engagements e ON e.engagement_id = r.engagement_id AND (e.session_id = r.session_id
    OR substr(r.engagement_id, 1, 9) <> substr(r.session_id, 1, 8) || '-')
WHERE {where} ORDER BY s.session_id, r.round"""


def _by_conditions(index: Index, wanted: Selection, named: Sequence[Listed]) -> dict[str, Numbers]:
    """What can be said in one question to the index."""
    asked = Query(project=wanted.project, agent=wanted.agent, since=wanted.since, until=wanted.until)
    conditions = of_session(asked) + of_round(asked)
    if wanted.sessions:
        conditions.append(_one_of("s.session_id", [row.session_id for row in named]))
    elif carried.find(index):
        conditions.append(Condition(carried.APART_ROUND))
    if wanted.engagement is not None:
        conditions.append(Condition("r.engagement_id = ?", (fit(wanted.engagement),)))
    if wanted.rounds:
        ranges = " OR ".join("r.round BETWEEN ? AND ?" for _ in wanted.rounds)
        conditions.append(Condition(ranges, tuple(end for range_ in wanted.rounds for end in range_)))
    where, values = joined(conditions)
    found: dict[str, set[int]] = {}
    for session_id, number in index.rows(_ROUNDS.format(where=where), *values):
        found.setdefault(session_id, set()).add(number)
    return {session_id: frozenset(numbers) for session_id, numbers in found.items()}


def _one_of(column: str, values: Sequence[Any]) -> Condition:
    return Condition(f"{column} IN ({','.join('?' * len(values))})", tuple(values))


def _by_query(layout: Layout, wanted: Selection) -> dict[str, Numbers] | None:
    """Rounds with a block that has the words, the best hits first; what a subagent said counts for its round."""
    if not wanted.query:
        return None
    asked = Query(
        text=wanted.query,
        project=wanted.project,
        agent=wanted.agent,
        since=wanted.since,
        until=wanted.until,
        limit=MOST_HITS,
        copies=bool(wanted.sessions),
    )
    found: dict[str, set[int]] = {}
    for hit in search(layout, asked):
        found.setdefault(hit.session_id, set()).add(hit.opens)
    return {session_id: frozenset(numbers) for session_id, numbers in found.items()}


def _by_file(layout: Layout, wanted: Selection) -> dict[str, Numbers] | None:
    if wanted.file is None:
        return None
    asked = Query(file=wanted.file, copies=bool(wanted.sessions))
    return {touched.session_id: touched.rounds for touched in find_touched(layout, asked)}
