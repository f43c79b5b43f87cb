"""Engagements that pass the filters and, if there is a query, have its words; the latest first.

Beside what extraction found there are names that people gave to rounds, and on request the ghosts: both are few, have
no row among the engagements, and are compared here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct, structs

from muniment.model import codec
from muniment.model.engagements import runs
from muniment.search.query import Condition, Query, at, joined, of_engagement, teach, without_engagement
from muniment.search.touched import Touched, touched
from muniment.store import edits, terms
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.rows import fit
from muniment.store.terms import Term

Tagged = dict[str, dict[int, str]]
"""What people tagged rounds with, by session."""
BY_HAND = "hand"
"""What made an engagement that a person named."""


class FoundEngagement(Struct, frozen=True, kw_only=True):
    """An engagement with what its session tells; a ghost has no method and no phase."""

    engagement_id: str | None
    session_id: str
    agent_id: str
    source: str
    title: str
    agent_name: str | None
    agent_role: str | None
    slug: str | None
    session_summary: str
    ghost: bool = False
    topic: str
    project: str | None
    method: str | None
    phase: str | None
    key_decisions: tuple[str, ...] = ()
    outcome: str = ""
    next_steps: tuple[str, ...] = ()
    turn_ranges: tuple[tuple[int, int], ...]
    started: str | None
    ended: str | None
    extractor: str | None

    @property
    def opens(self) -> int:
        """The first round of it."""
        return self.turn_ranges[0][0] if self.turn_ranges else 1


def find_engagements(layout: Layout, query: Query) -> list[FoundEngagement]:
    """The latest engagements; all that are asked for must hold."""
    with Index(layout) as index:
        teach(index)
        files = touched(layout, index, query) if query.file is not None else None
        return list(islice(every(layout, index, query, files), query.limit))


def every(
    layout: Layout, index: Index, query: Query, files: Sequence[Touched] | None = None
) -> Iterator[FoundEngagement]:
    """All of them, the latest first. `files` are the sessions that touched the file of the query."""
    asked = terms.parse(query.text)
    if query.text and not asked:
        return iter(())
    tagged = edits.tagged(layout)
    found = (_as_tagged(index, e) if e.session_id in tagged else e for e in _extracted(index, query, asked))
    others = [*_named_by_hand(index, query, tagged), *(_ghosts(index, query) if query.ghosts else ())]
    others = [other for other in others if terms.occur(_words(other), asked)]
    if others:
        found = (
            e for e in sorted([*found, *others], key=lambda e: (_utc(index, e.started), e.session_id), reverse=True)
        )
    return found if files is None else _that_touched(found, files)


def _that_touched(found: Iterable[FoundEngagement], files: Sequence[Touched]) -> Iterator[FoundEngagement]:
    rounds = {file.session_id: file.rounds for file in files}
    for engagement in found:
        near = rounds.get(engagement.session_id, frozenset[int]())
        if any(first <= number <= last for first, last in engagement.turn_ranges for number in near):
            yield engagement


def _utc(index: Index, time: str | None) -> str:
    return index.rows(f"SELECT {at('?1')}", time)[0][0] or ""


# -- what extraction found

_SESSION = """s.session_id, s.agent_id, s.source, s.title, i.agent_name, i.agent_role, i.slug,
  coalesce(i.summary, s.summary), s.started, s.ended, s.rounds, project_name(s.cwd)"""
_FROM = "FROM sessions s LEFT JOIN ingested i ON i.session_id = s.session_id"
_EXTRACTED = f"""SELECT {_SESSION}, e.id, e.engagement_id, e.topic, e.project, e.method, e.phase, e.key_decisions,
  e.outcome, e.next_steps, e.turn_ranges, e.started, e.ended, e.extractor
FROM engagements e JOIN sessions s ON s.session_id = e.session_id JOIN ingested i ON i.session_id = e.session_id
WHERE {{where}} ORDER BY {at("coalesce(e.started, s.started)")} DESC, e.session_id DESC, e.id DESC"""


def _extracted(index: Index, query: Query, asked: Sequence[Term]) -> Iterator[FoundEngagement]:
    conditions = of_engagement(query)
    if asked:
        sql = "e.id IN (SELECT rowid FROM engagements_fts WHERE engagements_fts MATCH ?)"
        conditions.append(Condition(sql, (terms.expression(asked),)))
    where, values = joined(conditions)
    compared = terms.needs_comparing(asked)
    for row in index.db.execute(_EXTRACTED.format(where=where), values):
        if not compared or terms.holds(_body(index, row[12]), compared):
            yield _engagement(row)


def _body(index: Index, id_: int) -> str:
    return index.rows("SELECT body FROM engagements_fts WHERE rowid = ?", id_)[0][0]


def _engagement(row: tuple[Any, ...]) -> FoundEngagement:
    _, engagement_id, topic, project, method, phase, decisions, outcome, steps, turns, started, ended, by = row[12:]
    return FoundEngagement(
        **_session(row),
        engagement_id=engagement_id,
        topic=topic,
        project=project,
        method=method,
        phase=phase,
        key_decisions=codec.decode(decisions.encode(), tuple[str, ...]),
        outcome=outcome,
        next_steps=codec.decode(steps.encode(), tuple[str, ...]),
        turn_ranges=codec.decode(turns.encode(), tuple[tuple[int, int], ...]),
        started=started or row[8],
        ended=ended or started or row[9],
        extractor=by,
    )


def _session(row: tuple[Any, ...]) -> dict[str, Any]:
    names = ("session_id", "agent_id", "source", "title", "agent_name", "agent_role", "slug", "session_summary")
    return dict(zip(names, row[: len(names)], strict=True))


def _as_tagged(index: Index, engagement: FoundEngagement) -> FoundEngagement:
    """With the rounds that belong to it now that a person moved some."""
    sql = "SELECT round FROM rounds WHERE session_id = ? AND engagement_id = ? ORDER BY round"
    own = [row[0] for row in index.rows(sql, engagement.session_id, engagement.engagement_id)]
    return structs.replace(engagement, turn_ranges=tuple(runs(own))) if own else engagement


# -- what it did not find


def _named_by_hand(index: Index, query: Query, tagged: Tagged) -> Iterator[FoundEngagement]:
    """Names that people gave to rounds, which no extractor knows."""
    names = {fit(name) or "" for rounds in tagged.values() for name in rounds.values()}
    sql = "SELECT engagement_id FROM engagements WHERE engagement_id IN (SELECT value FROM json_each(?))"
    extracted = {row[0] for row in index.rows(sql, codec.encode(sorted(names)).decode())} if names else set[str]()
    for session_id, rounds in tagged.items():
        for name in dict.fromkeys(rounds.values()):
            if name not in extracted:
                own = sorted(number for number, tag in rounds.items() if tag == name)
                yield from _by_hand(index, query, session_id, name, own)


def _by_hand(index: Index, query: Query, session_id: str, name: str, own: list[int]) -> Iterator[FoundEngagement]:
    of_rounds = f"FROM rounds WHERE session_id = s.session_id AND round BETWEEN {own[0]} AND {own[-1]}"
    first, last = f"(SELECT min(started) {of_rounds})", f"(SELECT max(started) {of_rounds})"
    for row in _others(index, query, Condition("s.session_id = ?", (session_id,)), first, last):
        yield _other(row, name, engagement_id=name, extractor=BY_HAND, turn_ranges=tuple(runs(own)))


def _ghosts(index: Index, query: Query) -> Iterator[FoundEngagement]:
    for row in _others(index, query, Condition("i.ghost")):
        yield _other(row, row[3], ghost=True, turn_ranges=((1, row[10]),) if row[10] else ())


def _others(
    index: Index, query: Query, which: Condition, first: str = "s.started", last: str = "s.ended"
) -> list[tuple[Any, ...]]:
    where, values = joined([which, *without_engagement(query, first, last)])
    return index.rows(f"SELECT {_SESSION}, {first}, {last} {_FROM} WHERE {where}", *values)


def _other(row: tuple[Any, ...], topic: str, **more: Any) -> FoundEngagement:
    about: dict[str, Any] = {"engagement_id": None, "extractor": None, "method": None, "phase": None}
    times = {"started": row[12] or row[8], "ended": row[13] or row[9]}
    return FoundEngagement(**_session(row), topic=topic, project=row[11], **times, **(about | more))


def _words(e: FoundEngagement) -> str:
    told = (e.topic, e.project, e.title, e.session_summary, e.agent_name, e.agent_role, e.slug)
    return "\n".join(words for words in told if words)
