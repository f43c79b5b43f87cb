"""Ingesting many sessions: which ones, what is made of each, and the index of it all.

Reading and extracting offline runs on all cores; this process alone writes `engagements.jsonl` and the index. What is
paid for is extracted without the lock, because it may take an hour, and settled a few sessions at a time.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial

from msgspec import Struct, field, structs

from muniment.errors import MunimentError
from muniment.ingest import ghosts, identity, offline, record, settle, skeleton
from muniment.ingest.skeleton import Skeleton
from muniment.model import Facts, codec
from muniment.model.engagements import Extraction, Ingested
from muniment.prospective import kept, merge
from muniment.prospective.record import Record
from muniment.store import engagement_table, engagements, index, listings, roster, rounds
from muniment.store.index import Index, Listed
from muniment.store.layout import Layout
from muniment.store.roster import Roster

WORKERS = 2
SMALL_BYTES = 8 << 20
"""Less than this is ingested without workers: starting them would cost more."""
SETTLED_AT_ONCE = 50

Report = Callable[["Outcome"], None]


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


class Outcome(Struct, frozen=True):
    """What came of one session."""

    session_id: str
    what: str
    """extracted, ghost or failed."""
    engagements: int = 0
    extractor: str | None = None
    note: str = ""


Extract = Callable[[Iterable[Skeleton]], Iterator[tuple[Skeleton, Extraction]]]
"""An extractor of many sessions, in any order."""


def plan(layout: Layout, choice: Choice, by: str = offline.NAME, env: Mapping[str, str] | None = None) -> Plan:
    """Compare the sessions of the archive with what is known of them; `by` is the extractor that is asked for."""
    with Index(layout) as known:
        done = engagement_table.states(known.db)
        rows = [row for row in known.sessions() if _chosen(row, choice)]
        told = kept.gather(layout, _folders(known, rows), os.environ if env is None else env)
        jobs: list[Job] = []
        for row in rows:
            own = told.of(row.session_id, known.facts(row.session_id).native_id) if told.records else ()
            if not _is_done(row, done.get(row.session_id), choice, by, own):
                jobs.append(_job(row, known.facts(row.session_id), own))
    return Plan(tuple(jobs), len(rows) - len(jobs), told.fresh)


def _folders(known: Index, rows: Sequence[Listed]) -> set[str | None]:
    """Where these sessions began, and where they were last."""
    sql = """SELECT DISTINCT json_extract(facts, '$.cwd') FROM sessions
    WHERE session_id IN (SELECT value FROM json_each(?))"""
    last = known.rows(sql, codec.encode([row.session_id for row in rows]).decode())
    return {row.cwd for row in rows} | {cwd for (cwd,) in last}


def _chosen(row: Listed, choice: Choice) -> bool:
    if choice.sessions and row.session_id not in choice.sessions:
        return False
    return choice.since is None or (row.ended or "") >= choice.since


def _is_done(
    row: Listed, done: tuple[str, str | None] | None, choice: Choice, by: str, told: tuple[Record, ...]
) -> bool:
    """What a model made of a session that has not changed is not replaced by what the offline rules make of it."""
    if done is None or done[0] != state_of(row, told):
        return False
    extractor = done[1]
    if by == offline.NAME and extractor and not extractor.startswith("offline"):
        return True
    return choice.skip_existing and extractor in (by, None)


def state_of(row: Listed, told: tuple[Record, ...] = ()) -> str:
    """Changes whenever the session does, or what was told of it."""
    mark = kept.mark(told)
    return f"{row.rounds}.{row.messages}.{row.tool_calls}.{row.ended or ''}{f'.{mark}' if mark else ''}"


def _job(row: Listed, facts: Facts, told: tuple[Record, ...] = ()) -> Job:
    return Job(row.session_id, row.agent_id, facts, row.sidechains, state_of(row, told), row.source_bytes, told)


def run(layout: Layout, todo: Plan, choice: Choice, report: Report, waiting: Callable[[], None] = lambda: None) -> None:
    """Understand everything that is planned, offline."""
    if todo.fresh:
        with index.lock(layout, waiting):
            kept.keep(layout, todo.fresh)
    if not todo.jobs:
        return
    registered = roster.load(layout)
    with index.lock(layout, waiting), _workers(todo) as pool, Index(layout, write=True) as target:
        writer = _Writer(layout, target, report)
        work = partial(_understand, layout, registered, choice.strict_ghosts)
        jobs = sorted(todo.jobs, key=lambda job: -job.bytes)
        made = pool.map(work, jobs, chunksize=4) if pool else map(work, jobs)
        with writer.committing():
            for job, understood in zip(jobs, made, strict=True):
                writer.take(job, understood)


def run_with(
    layout: Layout, todo: Plan, choice: Choice, extract: Extract, report: Report, waiting: Callable[[], None]
) -> None:
    """The same with an extractor that asks a model; what a model need not see is done offline."""
    unasked = [job for job in todo.jobs if ghosts.is_ghost(job.facts, choice.strict_ghosts)]
    left = {job.session_id: job for job in todo.jobs if job not in unasked}
    made: list[tuple[Job, Ingested]] = []
    registered = roster.load(layout)
    try:
        for read_, extraction in extract(_readable(layout, left.values(), unasked)):
            job = left[read_.facts.session_id]
            made.append((job, _made(read_, registered, extraction, job)))
            if len(made) == SETTLED_AT_ONCE:
                _settle(layout, made, report, waiting)
                made = []
    finally:
        _settle(layout, made, report, waiting)
    run(layout, Plan(tuple(unasked), 0, todo.fresh), choice, report, waiting)


def _readable(layout: Layout, jobs: Iterable[Job], unasked: list[Job]) -> Iterator[Skeleton]:
    """The sessions that a model is asked about; the others are told of in `unasked`."""
    for job in jobs:
        try:
            made = read(layout, job)
        except (MunimentError, OSError):
            unasked.append(job)  # there the reason is reported
            continue
        if ghosts.is_own(made):
            unasked.append(job)
        else:
            yield made


def rename(layout: Layout, sessions: Collection[str]) -> None:
    """Resolve the names of sessions anew, because the roster has changed; what was extracted stays."""
    registered = roster.load(layout)
    with Index(layout) as known:
        jobs = {s: _job(known.find(s), known.facts(s)) for s in sessions}
    records = [found for found in engagements.load(layout) if found.session_id in jobs]
    made = [(jobs[r.session_id], _renamed(layout, jobs[r.session_id], r, registered)) for r in records]
    _settle(layout, made, lambda _: None, lambda: None)


def _renamed(layout: Layout, job: Job, known: Ingested, registered: Roster) -> Ingested:
    who = identity.resolve(read(layout, job), registered)
    if who.name is None and known.agent_name_from == "extractor":
        return structs.replace(known, agent_role=who.role or known.agent_role)
    return structs.replace(known, agent_name=who.name, agent_name_from=who.by, agent_role=who.role)


def _settle(layout: Layout, made: Sequence[tuple[Job, Ingested]], report: Report, waiting: Callable[[], None]) -> None:
    if not made:
        return
    with index.lock(layout, waiting), Index(layout, write=True) as target:
        agents = target.agents()
        writer = _Writer(layout, target, report)
        with writer.committing():
            for job, understood in made:
                if agent_id := agents.get(job.session_id):
                    writer.take(job, settled(layout, structs.replace(understood, agent_id=agent_id)))


# -- one session


def read(layout: Layout, job: Job) -> Skeleton:
    """The skeleton of a stored session."""
    stored = rounds.load_all(layout.shelf(job.agent_id, job.session_id))
    return skeleton.make(stored, job.facts, job.agent_id, job.subagents)


class Settled(Struct, frozen=True):
    """A session whose own files say what was understood; the index does not yet."""

    record: Ingested | None
    summary: str = ""
    failure: str = ""


def settled(layout: Layout, understood: Ingested) -> Settled:
    return Settled(understood, settle.in_files(layout, understood, understood.agent_id))


def _understand(layout: Layout, registered: Roster, strict: bool, job: Job) -> Settled:
    """One session, offline; what goes wrong with it is told, and the others go on."""
    try:
        made = read(layout, job)
        ghost = ghosts.is_ghost(job.facts, strict) or ghosts.is_own(made)
        extraction = None if ghost else offline.extract(made)
        return settled(layout, _made(made, registered, extraction, job))
    except (MunimentError, OSError) as error:
        return Settled(None, failure=str(error))
    except Exception:
        return Settled(None, failure="a bug in muniment:\n" + traceback.format_exc())


def _made(made: Skeleton, registered: Roster, extraction: Extraction | None, job: Job) -> Ingested:
    """The record of a session: what was found, and above that what its agent told."""
    found = record.make(made, identity.resolve(made, registered), extraction, job.state)
    return merge.merged(found, made.turns, job.told, job.facts.native_id)


# -- the process that writes the index


class _Writer:
    """Takes sessions that were understood and puts them into the index."""

    def __init__(self, layout: Layout, target: Index, report: Report) -> None:
        self.layout = layout
        self.target = target
        self.report = report
        self.records: list[Ingested] = []

    @contextmanager
    def committing(self) -> Generator[None]:
        """Everything in one transaction; an interruption commits what is whole."""
        self.target.begin()
        try:
            yield
        finally:
            if sys.exc_info()[0] in (None, KeyboardInterrupt):
                engagements.put(self.layout, self.records)
                engagements.write_listing(self.layout)
                listings.write_archive_listings(self.layout, self.target)
                self.target.commit()
            else:
                self.target.rollback()

    def take(self, job: Job, made: Settled) -> None:
        if made.record is None:
            self.report(Outcome(job.session_id, "failed", note=made.failure))
            return
        self.records.append(made.record)
        settle.in_index(self.layout, self.target, made.record, made.summary)
        what = "ghost" if made.record.ghost else "extracted"
        found = len(made.record.engagements)
        self.report(Outcome(job.session_id, what, found, made.record.extractor, made.record.note))


@contextmanager
def _workers(todo: Plan) -> Generator[Executor | None]:
    """Worker processes for a large plan. They start before the index is opened: SQLite must not fork."""
    if sum(job.bytes for job in todo.jobs) < SMALL_BYTES:
        yield None
        return
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    with ProcessPoolExecutor(min(WORKERS, os.cpu_count() or 1), context, _begin_worker) as pool:
        pool.submit(os.getpid).result()
        yield pool


def _begin_worker() -> None:
    """Values without cycles need no collector; an interruption is for the process that commits."""
    gc.disable()
    os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
