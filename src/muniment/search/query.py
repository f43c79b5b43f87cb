"""What is looked for, and the conditions that follow from it, in SQL.

A condition is a piece of SQL and its values. Those on sessions speak of `s` (sessions) and `i` (ingested), those on
engagements of `e` as well, those on rounds of `r`. Times are compared in UTC to the second, however they are written.
Of several values of one filter any may hold; an empty one means that there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from msgspec import Struct

from muniment.errors import MunimentError
from muniment.model import codec, projects
from muniment.model.engagements import OPEN_PHASES
from muniment.store.index import Index
from muniment.store.rows import fit
from muniment.store.terms import fold

KINDS = {
    "user": "user",
    "assistant": "assistant",
    "thinking": "thinking",
    "tool-input": "tool",
    "tool-output": "result",
    "compaction": "compaction",
    "event": "event",
}
"""What can be searched in, by the name a person gives it."""


Choice = str | tuple[str, ...] | None
"""One value, or several of which any may hold."""


class Query(Struct, frozen=True):
    """What to look for, and where. Every field that is given must hold."""

    text: str = ""
    kinds: tuple[str, ...] = ()
    """Only in blocks of these kinds; names of `KINDS`."""
    source: Choice = None
    model: Choice = None
    """The model of the session's latest answer."""
    session: str | None = None
    """Beginning of the id."""
    agent: Choice = None
    """Part of the agent's name, role, slug or bucket."""
    since: str | None = None
    """ISO date or time, local unless it says otherwise: of the round, or the end of the engagement."""
    until: str | None = None
    """As `since`; what began at or after it is left out."""
    limit: int = 20
    method: Choice = None
    project: Choice = None
    """Part of the name or of the path of the project."""
    phase: Choice = None
    ghosts: bool = False
    """Sessions that never reached substantive work are listed too. Their text is always searched."""
    file: str | None = None
    """Only sessions that touched this path."""
    exact: bool = False
    """Project and agent are whole names, as the viewer lists them, and not parts."""
    left_open: bool = False
    """Only engagements that were not finished, or that named what comes next."""
    copies: bool = False
    """What a session took over from the one it continues is found in it too; always so in a session that is named."""

    @property
    def filters(self) -> list[tuple[str, str]]:
        """What narrows the query: names, each with a value; `open` has none."""
        names = ("method", "project", "agent", "phase", "since", "until", "source", "model", "session", "file")
        given = [(name, value) for name in names for value in chosen(getattr(self, name))]
        kinds = [("in", ",".join(self.kinds))] if self.kinds else []
        return given + kinds + ([("open", "")] if self.left_open else [])


def chosen(choice: Choice) -> tuple[str, ...]:
    """The values of a filter; none if it does not narrow."""
    return () if choice is None else (choice,) if isinstance(choice, str) else choice


class Condition(Struct, frozen=True):
    """A piece of SQL with its values."""

    sql: str
    values: tuple[Any, ...] = ()


def joined(conditions: Sequence[Condition]) -> tuple[str, list[Any]]:
    """All of them at once; `1` if there are none."""
    sql = " AND ".join(f"({condition.sql})" for condition in conditions) or "1"
    return sql, [value for condition in conditions for value in condition.values]


def moment(text: str) -> str:
    """A date or time as the index compares it. A date is the beginning of that day, here."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise MunimentError(f"{text!r} is no date", "write it as 2026-03-19 or 2026-03-19T10:00") from None
    try:
        return at.astimezone(UTC).isoformat(" ", "seconds")[:19]
    except OverflowError:  # the first or the last day of the calendar
        return at.isoformat(" ", "seconds")[:19]


def at(column: str) -> str:
    """A time of the index, comparable; what is no time stays as it is."""
    return f"coalesce(datetime({column}), {column})"


def teach(index: Index) -> None:
    """Give the index the functions that conditions use."""
    index.db.create_scalar_function("holds", _holds, 2, deterministic=True)
    index.db.create_scalar_function("project_name", _project_name, 1, deterministic=True)


def _holds(text: str | None, parts: str) -> bool:
    """Whether a text has one of some parts, in any case and with or without accents; SQLite knows only ASCII."""
    if text is None:
        return False
    folded = fold(text)
    return any(part in folded for part in _decoded(parts))


@lru_cache(maxsize=32)
def _decoded(parts: str) -> tuple[str, ...]:
    return codec.decode(parts.encode(), tuple[str, ...])


def _project_name(cwd: str | None) -> str | None:
    return projects.name(cwd, None)


def one_of(column: str, choice: Choice) -> list[Condition]:
    """That a column is one of the values."""
    values = tuple(fit(value) or "" for value in chosen(choice))
    known = f"coalesce({column}, '')" if "" in values else column
    return [Condition(f"{known} IN ({','.join('?' * len(values))})", values)] if values else []


def _named(choice: Choice, exact: bool, name: str, where: str) -> list[Condition]:
    """That a name is one of the values; unless it must be exact, that one of them is part of what stands `where`."""
    if exact or not (values := chosen(choice)):
        return one_of(name, choice)
    parts = codec.encode([fold(fit(value) or "") for value in values]).decode()
    return [Condition(f"holds({where}, ?)", (parts,))]


# -- sessions


def of_session(query: Query) -> list[Condition]:
    """Conditions on a session as a whole."""
    found = one_of("s.source", query.source) + one_of("s.model", query.model)
    if query.session is not None:
        prefix = (fit(query.session) or "").lower()
        found.append(Condition("substr(s.session_id, 1, ?) = ?", (len(prefix), prefix)))
    names = "concat_ws(char(10), s.agent_id, i.agent_name, i.agent_role, i.slug)"
    return found + _named(query.agent, query.exact, "coalesce(nullif(i.agent_name, ''), s.agent_id)", names)


# -- engagements

_PATHS = """concat_ws(char(10), e.project,
  CASE WHEN e.id IS NULL OR e.project = project_name(s.cwd) THEN s.cwd END)"""
"""Names of projects are short, so the folder of the session counts too, unless the work was on something else."""


def of_engagement(query: Query) -> list[Condition]:
    """Conditions on an engagement, its session included."""
    found = of_session(query) + _of_work(query) + _named(query.project, query.exact, "e.project", _PATHS)
    return found + of_time(query, "coalesce(e.started, s.started)", "coalesce(e.ended, e.started, s.started)")


def _of_work(query: Query) -> list[Condition]:
    """What only an engagement has."""
    found = one_of("e.method", query.method) + one_of("e.phase", query.phase)
    if query.left_open:
        open_ = one_of("e.phase", OPEN_PHASES)[0]
        found.append(Condition(f"{open_.sql} OR e.next_steps <> '[]'", open_.values))
    return found


def of_time(query: Query, first: str, last: str) -> list[Condition]:
    """Conditions on a span of time: some of it lies between `since` and `until`."""
    found: list[Condition] = []
    if query.since is not None:
        found.append(Condition(f"{at(last)} >= ?", (moment(query.since),)))
    if query.until is not None:
        found.append(Condition(f"{at(first)} < ?", (moment(query.until),)))
    return found


# -- what has no engagement: ghosts, and rounds that were not understood


def without_engagement(query: Query, first: str, last: str) -> list[Condition]:
    """The same for a session or round that belongs to none."""
    found = of_session(query) + of_time(query, first, last)
    wanted = [values for values in (chosen(query.method), chosen(query.phase)) if values]
    if query.left_open or any("" not in values for values in wanted):
        found.append(Condition("0"))
    return found + _named(query.project, query.exact, "project_name(s.cwd)", "s.cwd")


# -- rounds


def of_round(query: Query) -> list[Condition]:
    """Conditions on a round, its engagement and session included; none if the query names nothing smaller."""
    found = of_time(query, "coalesce(r.started, s.started)", "coalesce(r.started, s.started)")
    name = "CASE WHEN e.id IS NULL THEN project_name(s.cwd) ELSE e.project END"
    return found + _of_work(query) + _named(query.project, query.exact, name, _PATHS)
