"""Which sessions there are to understand, and what is to be done with each.

A session whose own content has changed is extracted anew. One of which an agent has told something else since is not:
what was found in it still holds, some of it was paid for, and what was told is put above it again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct, field, structs

from muniment.ingest import ghosts, offline
from muniment.model import Facts
from muniment.model.engagements import Ingested
from muniment.prospective import kept
from muniment.prospective.record import Record
from muniment.store import carried, engagement_table, engagements, roster
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.session_table import Listed

_TOLD = "#"
"""Stands in a state before the mark of what was told."""


class Job(Struct, frozen=True):
    """One session to be understood."""

    session_id: str
    agent_id: str
    facts: Facts
    subagents: int
    state: str
    bytes: int
    told: tuple[Record, ...] = ()
    """What agents told of it while they worked."""
    known: Ingested | None = None
    """What was found in it, if that still holds and only what was told has changed."""
    carried: int = 0
    """Rounds at its beginning that were taken over from another session, and were understood there."""


class Choice(Struct, frozen=True):
    """Which sessions, and by which rules."""

    sessions: tuple[str, ...] = ()
    """Ids; none means all."""
    since: str | None = None
    """Only sessions that went on at or after this date."""
    skip_existing: bool = False
    """Leave out those that were understood and have not grown since."""
    strict_ghosts: bool = False


class Plan(Struct, frozen=True):
    """What there is to do."""

    jobs: tuple[Job, ...]
    unchanged: int
    fresh: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Engagement files of projects that the store has yet to copy."""
    renamed: tuple[str, ...] = ()
    """Sessions that are left as they are but for their names: the roster was written by others since."""


def plan(layout: Layout, choice: Choice, by: str = offline.NAME, env: Mapping[str, str] | None = None) -> Plan:
    """Compare the sessions of the archive with what is known of them; `by` is the extractor that is asked for."""
    with Index(layout) as known:
        done = engagement_table.states(known.db)
        rows = [row for row in known.sessions() if _chosen(row, choice)]
        facts = {row.session_id: known.facts(row.session_id) for row in rows}
        told = kept.gather(layout, _folders(rows, facts), os.environ if env is None else env)
        taken_over = carried.rounds(known)
        jobs: list[Job] = []
        standing: set[str] = set()
        for row in rows:
            about = facts[row.session_id]
            from_others = taken_over.get(row.session_id, 0)
            heard = told.of(row.session_id, about.native_id) if told.records else ()
            job = job_of(row, about, heard, from_others)
            stands = _stands(_state(row, from_others), done.get(row.session_id), choice, by)
            if not stands or done[row.session_id][0] != job.state:
                jobs.append(job)
                standing |= {row.session_id} if stands else set()
        left = {row.session_id for row in rows} - {job.session_id for job in jobs}
        renamed = tuple(sorted(left & roster.otherwise(known.db)))
    return Plan(_with_known(layout, jobs, standing), len(rows) - len(jobs), told.fresh, renamed)


def _with_known(layout: Layout, jobs: Sequence[Job], standing: set[str]) -> tuple[Job, ...]:
    """The jobs, with what was found where that stands."""
    found = {r.session_id: r for r in engagements.load(layout) if r.session_id in standing} if standing else {}
    return tuple(structs.replace(job, known=found.get(job.session_id)) for job in jobs)


def _folders(rows: Sequence[Listed], facts: Mapping[str, Facts]) -> set[str | None]:
    """Where these sessions began, and where they were last."""
    return {row.cwd for row in rows} | {about.cwd for about in facts.values()}


def _chosen(row: Listed, choice: Choice) -> bool:
    if choice.sessions and row.session_id not in choice.sessions:
        return False
    return choice.since is None or (row.ended or "") >= choice.since


def _stands(state: str, done: tuple[str, str | None] | None, choice: Choice, by: str) -> bool:
    """Whether what was found in a session holds: it has not changed, and nobody asked to look at it again.

    What a model made of it is not replaced by what the offline rules make of it."""
    if done is None or done[0].partition(_TOLD)[0] != state:
        return False
    extractor = done[1]
    if by == offline.NAME and extractor and not extractor.startswith("offline"):
        return True
    return choice.skip_existing and extractor in (by, None)


def _state(row: Listed, carried: int) -> str:
    """Changes whenever the session does, or what of it is its own."""
    state = f"{row.rounds}.{row.messages}.{row.tool_calls}.{row.ended or ''}"
    return f"{state}.{carried}" if carried else state


def job_of(row: Listed, facts: Facts, told: tuple[Record, ...] = (), carried: int = 0) -> Job:
    """A session as there is to do with it."""
    mark, state = kept.mark(told), _state(row, carried)
    state = f"{state}{_TOLD}{mark}" if mark else state
    return Job(row.session_id, row.agent_id, facts, row.sidechains, state, row.source_bytes, told, carried=carried)


def is_ghost(job: Job, strict: bool) -> bool:
    """Whether no work was done in it; one that was continued from another and not gone on with has none of its own."""
    return ghosts.is_ghost(job.facts, strict) or 0 < job.facts.rounds <= job.carried


def is_asked_about(job: Job, choice: Choice) -> bool:
    """Whether an extractor that asks a model gets to see a session."""
    return job.known is None and not is_ghost(job, choice.strict_ghosts)
