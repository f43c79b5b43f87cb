"""All sessions and all engagements, in columns, and what there is to filter them by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from muniment.model import projects
from muniment.model.engagements import METHODS, PHASES
from muniment.search import FoundEngagement, Query
from muniment.search.engagements import BY_HAND, every
from muniment.search.query import teach
from muniment.store import edits
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.viewing.shapes import (
    Count,
    EngagementColumns,
    Engagements,
    Facets,
    Overview,
    SessionColumns,
    Sessions,
)

_RANGES = msgspec.json.Decoder(tuple[tuple[int, int], ...])
_MAX_FACETS = 500


def overview(layout: Layout, state: str, version: str) -> Overview:
    """What there is."""
    with Index(layout) as index:
        counts = index.rows("SELECT count(*), min(started), max(ended) FROM sessions")[0]
        ingested, ghosts = index.rows("SELECT count(*), coalesce(sum(ghost), 0) FROM ingested")[0]
        found = index.rows("SELECT count(*) FROM engagements")[0][0]
        facets = _facets(index)
    sessions, first, last = counts
    return Overview(state, version, sessions, ghosts, ingested, found, first, last, METHODS, PHASES, facets)


def _facets(index: Index) -> Facets:
    who = """SELECT coalesce(i.agent_name, s.agent_id), s.source, s.model FROM sessions s
      LEFT JOIN ingested i ON i.session_id = s.session_id"""
    agents, sources, models = _columns(index.rows(who), 3)
    tags = (tag for (tag,) in index.rows("SELECT tag FROM tags"))
    return Facets(_counted(project_of(index).values()), *map(_counted, (agents, sources, models, tags)))


def _counted(values: Iterable[str | None]) -> list[Count]:
    found = Counter(value for value in values if value)
    return [Count(name, count) for name, count in found.most_common(_MAX_FACETS)]


def project_of(index: Index) -> dict[str, str | None]:
    """The project of every session: that of its first engagement, else its folder. In the order of their keys."""
    folders = index.rows("SELECT session_id, cwd FROM sessions ORDER BY id")
    return dict(zip((id_ for id_, _ in folders), _projects(index, folders), strict=True))


def _projects(index: Index, folders: Iterable[tuple[str, str | None]]) -> Iterator[str | None]:
    """The projects of sessions, of which id and folder are given. Many share a folder."""
    sql = "SELECT session_id, project FROM engagements WHERE project IS NOT NULL ORDER BY id DESC"
    first: dict[str, str] = dict(index.rows(sql))  # the last one of the rows stays
    known: dict[str | None, str | None] = {}
    for id_, cwd in folders:
        if cwd not in known:
            known[cwd] = projects.name(cwd, None)
        yield first.get(id_) or known[cwd]


# -- sessions

_SESSIONS = """SELECT s.session_id, s.title, s.summary, s.agent_id, i.agent_name, i.agent_role, s.source, s.model,
  s.cwd, s.started, s.ended, s.rounds, s.messages, s.tool_calls, s.tokens, s.sidechains, s.problems, i.ghost
FROM sessions s LEFT JOIN ingested i ON i.session_id = s.session_id ORDER BY s.id"""


def sessions(layout: Layout, state: str) -> Sessions:
    """Every session, in the order of their keys: that only grows, so an entry keeps its number."""
    with Index(layout) as index:
        columns = _columns(index.rows(_SESSIONS), 18)
        ids, titles, summaries, agent, name, role, source, model, cwd, started, ended, *counts, ghost = columns
        own, project_table = _numbered(_projects(index, zip(ids, cwd, strict=True)))
        tags = _tags(index)
    agents, agent_table = _numbered(agent)
    sources, source_table = _numbered(source)
    models, model_table = _numbered(model)
    ghosts = [None if value is None else bool(value) for value in ghost]
    labels = [tags.get(id_, []) for id_ in ids]
    who = (agents, name, role, sources, models, own)
    made = SessionColumns(ids, titles, summaries, *who, started, ended, *_six(counts), ghosts, labels)
    return Sessions(state, made, agent_table, source_table, model_table, project_table)


def _six(columns: Sequence[list[int]]) -> tuple[list[int], list[int], list[int], list[int], list[int], list[int]]:
    rounds, messages, tool_calls, tokens, sidechains, problems = columns
    return rounds, messages, tool_calls, tokens, sidechains, problems


def _tags(index: Index) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for session_id, tag in index.rows("SELECT session_id, tag FROM tags"):
        found.setdefault(session_id, []).append(tag)
    return found


def _columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def _numbered(values: Iterable[str | None]) -> tuple[list[int], list[str]]:
    """Names as numbers into a table; -1 for none."""
    table: dict[str, int] = {}
    numbers = [-1 if value is None else table.setdefault(value, len(table)) for value in values]
    return numbers, list(table)


# -- engagements

_ENGAGEMENTS = """SELECT engagement_id, session_id, topic, method, phase, project, started, ended, turn_ranges, outcome,
  key_decisions, next_steps FROM engagements ORDER BY id"""


def engagements(layout: Layout, state: str) -> Engagements:
    """Every engagement; `session` is the number of its session in `sessions`."""
    with Index(layout) as index:
        place = {id_: n for n, (id_,) in enumerate(index.rows("SELECT session_id FROM sessions ORDER BY id"))}
        rows = [row for row in index.rows(_ENGAGEMENTS) if row[1] in place]
        rows += [_row(found) for found in named_by_hand(layout, index) if found.session_id in place]
    columns = _columns(rows, 12)
    ids, session, topics, method, phase, project, started, ended, turns, outcomes, decisions, steps = columns
    ranges = [_RANGES.decode(text) for text in turns]
    projects_, project_table = _numbered(project)
    made = EngagementColumns(
        ids,
        [place[id_] for id_ in session],
        topics,
        _known(method, METHODS),
        _known(phase, PHASES),
        projects_,
        started,
        ended,
        [sum(last - first + 1 for first, last in own) for own in ranges],
        [own[0][0] if own else 1 for own in ranges],
        outcomes,
        _as_written(decisions),
        _as_written(steps),
    )
    return Engagements(state, made, list(METHODS), list(PHASES), project_table)


def _known(values: Iterable[Hashable], table: Sequence[str]) -> list[int]:
    numbers: dict[Hashable, int] = {name: number for number, name in enumerate(table)}
    return [numbers.get(value, -1) for value in values]


def _as_written(column: Iterable[str]) -> Any:
    """Lists of texts are JSON in the index and go out as they are."""
    return [Raw(text) for text in column]


def named_by_hand(layout: Layout, index: Index) -> Iterator[FoundEngagement]:
    """Engagements that people named, which no extractor knows."""
    teach(index)
    for session_id in edits.tagged(layout):
        for found in every(layout, index, Query(session=session_id)):
            if found.extractor == BY_HAND:
                yield found


def _row(found: FoundEngagement) -> tuple[Any, ...]:
    ranges = msgspec.json.encode(found.turn_ranges).decode()
    about = (found.engagement_id, found.session_id, found.topic, None, None, found.project)
    return (*about, found.started, found.ended, ranges, found.outcome, "[]", "[]")
