"""What is looked for, and the conditions that follow from it, in SQL.

A condition is a piece of SQL and its values. Those on sessions speak of `s` (sessions) and `i` (ingested), those on
engagements of `e` as well, those on rounds of `r`. Times are compared in UTC to the second, however they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from muniment.errors import MunimentError
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


class Query(Struct, frozen=True):
    """What to look for, and where. Every field that is given must hold."""

    text: str = ""
    kinds: tuple[str, ...] = ()
    """Only in blocks of these kinds; names of `KINDS`."""
    source: str | None = None
    session: str | None = None
    """Beginning of the id."""
    agent: str | None = None
    """Part of the agent's name, role, slug or bucket."""
    since: str | None = None
    """ISO date or time, local unless it says otherwise: of the round, or the end of the engagement."""
    until: str | None = None
    """As `since`; what began at or after it is left out."""
    limit: int = 20
    method: str | None = None
    project: str | None = None
    """Part of the project of the engagement; of the session's folder where there is no engagement."""
    phase: str | None = None
    ghosts: bool = False
    """Sessions that never reached substantive work are listed too. Their text is always searched."""
    file: str | None = None
    """Only sessions that touched this path."""

    @property
    def filters(self) -> dict[str, str]:
        """What narrows the query, by name."""
        names = ("method", "project", "agent", "phase", "since", "until", "source", "session", "file")
        given = {name: str(value) for name in names if (value := getattr(self, name)) is not None}
        return given | ({"in": ",".join(self.kinds)} if self.kinds else {})


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


def _holds(text: str | None, part: str) -> bool:
    """Whether a text has a part, in any case and with or without accents; SQLite knows only ASCII."""
    return text is not None and part in fold(text)


def _part(value: str) -> str:
    return fold(fit(value) or "")


# -- sessions


def of_session(query: Query) -> list[Condition]:
    """Conditions on a session as a whole."""
    found: list[Condition] = []
    if query.source is not None:
        found.append(Condition("s.source = ?", (fit(query.source),)))
    if query.session is not None:
        prefix = (fit(query.session) or "").lower()
        found.append(Condition("substr(s.session_id, 1, ?) = ?", (len(prefix), prefix)))
    if query.agent is not None:
        names = "concat_ws(char(10), s.agent_id, i.agent_name, i.agent_role, i.slug)"
        found.append(Condition(f"holds({names}, ?)", (_part(query.agent),)))
    return found


# -- engagements


def of_engagement(query: Query) -> list[Condition]:
    """Conditions on an engagement, its session included."""
    found = of_session(query)
    if query.method is not None:
        found.append(Condition("e.method = ?", (fit(query.method),)))
    if query.phase is not None:
        found.append(Condition("e.phase = ?", (fit(query.phase),)))
    if query.project is not None:
        found.append(Condition("holds(e.project, ?)", (_part(query.project),)))
    return found + of_time(query, "coalesce(e.started, s.started)", "coalesce(e.ended, e.started, s.started)")


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
    if query.method is not None or query.phase is not None:
        found.append(Condition("0"))
    if query.project is not None:
        found.append(Condition("holds(s.cwd, ?)", (_part(query.project),)))
    return found


# -- rounds


def of_round(query: Query) -> list[Condition]:
    """Conditions on a round, its engagement and session included; none if the query names nothing smaller."""
    found = of_time(query, "coalesce(r.started, s.started)", "coalesce(r.started, s.started)")
    if query.method is not None:
        found.append(Condition("e.method = ?", (fit(query.method),)))
    if query.phase is not None:
        found.append(Condition("e.phase = ?", (fit(query.phase),)))
    if query.project is not None:
        sql = "holds(CASE WHEN e.id IS NULL THEN s.cwd ELSE e.project END, ?)"
        found.append(Condition(sql, (_part(query.project),)))
    return found
