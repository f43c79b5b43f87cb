"""The numbers behind the charts: what happened on which day, and where the tokens went.

Days are local. A round's tokens count where its session or its engagement passes the filters; so does a subagent's,
by the round during which it began.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from msgspec import structs

from muniment.search import Query, scope
from muniment.search.query import Condition, chosen, joined, of_engagement, of_session, of_time, one_of, teach
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.viewing.everything import project_of
from muniment.viewing.shapes import Count, Day, ModelTokens, ProjectWork, Stats

_FROM = "FROM sessions s LEFT JOIN ingested i ON i.session_id = s.session_id"
_ENGAGED = f"""SELECT e.session_id, e.method, e.phase, e.project, coalesce(e.started, s.started) {_FROM}
  JOIN engagements e ON e.session_id = s.session_id WHERE {{where}}"""
_TOKENS = """SELECT t.session, substr(t.at, 1, 13), t.model, sum(t.input), sum(t.output), sum(t.cache_read),
  sum(t.cache_write) FROM usage t WHERE {where} GROUP BY 1, 2, 3"""


def stats(layout: Layout, state: str, query: Query) -> Stats:
    """What passes the filters, counted."""
    with Index(layout) as index:
        teach(index)
        engaged = _engaged(index, query)
        begun = _sessions(index, query, {row[0] for row in engaged})
        used = _used(index, query)
        projects = project_of(index)
        keys = dict(index.rows("SELECT id, session_id FROM sessions"))
    spent = [(projects.get(keys.get(key, "")), _day(hour), name, counts) for key, hour, name, *counts in used]
    return Stats(
        state,
        _days(begun, engaged, spent),
        _models(spent),
        _projects(begun, engaged, spent, projects),
        _counted(row[1] for row in engaged),
        _counted(row[2] for row in engaged),
    )


# -- what passes


def _engaged(index: Index, query: Query) -> list[tuple[Any, ...]]:
    where, values = joined(of_engagement(query))
    return index.rows(_ENGAGED.format(where=where), *values)


def _sessions(index: Index, query: Query, engaged: set[str]) -> list[tuple[str, str | None]]:
    """Sessions and when they began. A filter on engagements leaves those that have one."""
    by_time = of_time(query, "s.started", "coalesce(s.ended, s.started)")
    real = [] if query.ghosts else [Condition("NOT coalesce(i.ghost, 0)")]
    where, values = joined([*of_session(query), *by_time, *real])
    rows = index.rows(f"SELECT s.session_id, s.started {_FROM} WHERE {where}", *values)
    of_work = query.left_open or any(chosen(choice) for choice in (query.method, query.phase, query.project))
    return [(id_, started) for id_, started in rows if not of_work or id_ in engaged]


def _used(index: Index, query: Query) -> list[tuple[Any, ...]]:
    """Tokens by session, hour and model: of that model itself, where one is asked for.

    A row of `usage` names its place as a row of `texts` does."""
    narrowed = scope.narrow(index, structs.replace(query, model=None), None)
    where, values = joined([*([narrowed] if narrowed else []), *one_of("t.model", query.model)])
    return index.rows(_TOKENS.format(where=where), *values)


# -- counting

Spent = tuple[str | None, str, str | None, Sequence[int]]


def _days(
    begun: Iterable[tuple[str, str | None]], engaged: Iterable[tuple[Any, ...]], spent: Iterable[Spent]
) -> list[Day]:
    sessions = Counter(_day(started) for _, started in begun)
    engagements = Counter(_day(row[4]) for row in engaged)
    tokens: Counter[str] = Counter()
    for _, day, _, counts in spent:
        tokens[day] += sum(counts)
    days = sorted({*sessions, *engagements, *tokens} - {""})
    return [Day(day, sessions[day], engagements[day], tokens[day]) for day in days]


def _models(spent: Iterable[Spent]) -> list[ModelTokens]:
    found: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for _, _, model, counts in spent:
        found[model or ""] = [a + b for a, b in zip(found[model or ""], counts, strict=True)]
    ranked = sorted(found.items(), key=lambda one: -sum(one[1]))
    return [ModelTokens(name, *counts) for name, counts in ranked]


def _projects(
    begun: Iterable[tuple[str, str | None]],
    engaged: Iterable[tuple[Any, ...]],
    spent: Iterable[Spent],
    projects: Mapping[str, str | None],
) -> list[ProjectWork]:
    sessions = Counter(projects.get(id_) or "" for id_, _ in begun)
    engagements = Counter(row[3] or "" for row in engaged)
    tokens: Counter[str] = Counter()
    for project, _, _, counts in spent:
        tokens[project or ""] += sum(counts)
    ranked = sorted({*sessions, *engagements, *tokens}, key=lambda name: (-tokens[name], -sessions[name], name))
    return [ProjectWork(name, tokens[name], sessions[name], engagements[name]) for name in ranked]


def _counted(values: Iterable[str]) -> list[Count]:
    return [Count(name, count) for name, count in Counter(values).most_common()]


@lru_cache(maxsize=10_000)
def _day(time: str | None) -> str:
    """The day here of a time, of which the hour is enough; empty if it is none."""
    if not time:
        return ""
    written = f"{time}:00Z" if len(time) == 13 else time
    try:
        return datetime.fromisoformat(written).astimezone().date().isoformat()
    except (ValueError, OverflowError):
        return ""
