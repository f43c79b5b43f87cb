"""Ingesting many sessions: what is made of each, and the index of it all.

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
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial

from msgspec import Struct, structs

from muniment.config import SMALL_BYTES, WORKERS, cores
from muniment.errors import MunimentError
from muniment.ingest import ghosts, identity, offline, record, settle, skeleton
from muniment.ingest.planning import Choice, Job, Plan, is_asked_about, is_ghost, job_of
from muniment.ingest.skeleton import Skeleton
from muniment.model.engagements import Extraction, Ingested
from muniment.prospective import kept, merge
from muniment.store import carried, engagements, index, listings, roster, rounds
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.roster import Roster

SETTLED_AT_ONCE = 50

Report = Callable[["Outcome"], None]


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


def run(layout: Layout, todo: Plan, choice: Choice, report: Report, waiting: Callable[[], None] = lambda: None) -> None:
    """Understand everything that is planned, offline."""
    if todo.fresh:
        with index.lock(layout, waiting):
            kept.keep(layout, todo.fresh)
    if todo.renamed:
        rename(layout, todo.renamed, waiting)
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
    unasked = [job for job in todo.jobs if not is_asked_about(job, choice)]
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
    run(layout, structs.replace(todo, jobs=tuple(unasked), unchanged=0), choice, report, waiting)


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


def rename(layout: Layout, sessions: Collection[str], waiting: Callable[[], None] = lambda: None) -> None:
    """Resolve the names of sessions anew, because the roster has changed; what was extracted stays."""
    registered = roster.load(layout)
    with Index(layout) as known:
        taken_over = carried.rounds(known)
        jobs = {s: job_of(known.find(s), known.facts(s), carried=taken_over.get(s, 0)) for s in sessions}
    records = [found for found in engagements.load(layout) if found.session_id in jobs]
    made = [(job, new) for r in records if (new := _renamed(layout, job := jobs[r.session_id], r, registered))]
    _settle(layout, made, lambda _: None, waiting)


def _renamed(layout: Layout, job: Job, known: Ingested, registered: Roster) -> Ingested | None:
    """Nothing of a session that cannot be read: its names are those of the roster until it can."""
    try:
        who = identity.resolve(read(layout, job), registered)
    except (MunimentError, OSError):
        return None
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
    """The skeleton of a stored session, without what it took over from another."""
    stored = rounds.load_all(layout.shelf(job.agent_id, job.session_id), job.carried + 1)
    return skeleton.make(stored, job.facts, job.agent_id, job.subagents)


class Sized(Struct, frozen=True):
    """What there would be to read of a session, before anything is done with it."""

    session_id: str
    title: str
    ghost: bool
    """It would be recorded, and not extracted."""
    rounds: int
    bytes: int
    """Of its transcript."""
    skeleton_chars: int
    """Of what extraction reads; cut if it is long. None of it is read of a ghost."""
    note: str = ""
    """Why it cannot be read."""


def sized(layout: Layout, job: Job, strict: bool) -> Sized:
    """The size of a session's skeleton; nothing is changed."""
    about = (job.facts.rounds, job.bytes)
    title = record.one_line(job.facts.display_title)
    ghost = ghosts.is_ghost(job.facts, strict)
    try:
        made = read(layout, job)
    except (MunimentError, OSError) as error:
        return Sized(job.session_id, title, ghost, *about, 0, str(error))
    return Sized(job.session_id, title, ghost or ghosts.is_own(made), *about, len(skeleton.text(made)))


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
        if job.known:
            return settled(layout, _told_again(job.known, made, job))
        ghost = is_ghost(job, strict) or ghosts.is_own(made)
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


def _told_again(known: Ingested, made: Skeleton, job: Job) -> Ingested:
    """The same record with what its agent tells now above what was found."""
    found = structs.replace(merge.unmerged(known), state=job.state, agent_id=job.agent_id)
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
    with ProcessPoolExecutor(min(WORKERS, cores()), context, _begin_worker) as pool:
        pool.submit(os.getpid).result()
        yield pool


def _begin_worker() -> None:
    """Values without cycles need no collector; an interruption is for the process that commits."""
    gc.disable()
    os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
