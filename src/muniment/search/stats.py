"""Counting engagements instead of listing them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct, structs

from muniment.search.engagements import FoundEngagement, every
from muniment.search.query import Query, teach
from muniment.search.touched import touched
from muniment.store.index import Index
from muniment.store.layout import Layout

NONE = "(none)"


class Counts(Struct, frozen=True):
    """How many engagements there are, and how many of each; the most frequent first, days in order."""

    engagements: int
    sessions: int
    ghosts: int
    """Sessions without engagements that pass the filters, asked for or not."""
    method: dict[str, int]
    project: dict[str, int]
    agent: dict[str, int]
    phase: dict[str, int]
    day: dict[str, int]


def count(layout: Layout, query: Query) -> Counts:
    """The engagements that a query finds, counted; its limit does not count."""
    with Index(layout) as index:
        teach(index)
        files = touched(layout, index, query) if query.file is not None else None
        found = list(every(layout, index, structs.replace(query, ghosts=True), files))
    worked = [engagement for engagement in found if not engagement.ghost]
    return Counts(
        len(worked),
        len({engagement.session_id for engagement in (found if query.ghosts else worked)}),
        len(found) - len(worked),
        _frequent(e.method for e in worked),
        _frequent(e.project for e in worked),
        _frequent(e.agent_name or e.agent_role or e.agent_id for e in worked),
        _frequent(e.phase for e in worked),
        dict(sorted(Counter(day(e) for e in worked).items(), reverse=True)),
    )


def _frequent(values: Iterable[str | None]) -> dict[str, int]:
    return dict(Counter(value or NONE for value in values).most_common())


def day(engagement: FoundEngagement) -> str:
    """The day on which it began, here."""
    return local(engagement.started)[:10] or NONE


def local(time: str | None) -> str:
    """A time as a clock here shows it: `2026-03-19 11:00`; what is no time stays as it is."""
    try:
        return datetime.fromisoformat(time or "").astimezone().isoformat(" ", "minutes")[:16]
    except (ValueError, OverflowError):
        return (time or "")[:16].replace("T", " ")
