"""Inscribing many sessions on all cores.

Workers read, parse and write the files of one session at a time; this process alone writes the index, from
the rows they send. Files are synced once per batch, then the index commits: what it says is in the store survives a
power cut, and only then do files go that were replaced.
"""

from __future__ import annotations

import contextlib
import gc
import shutil
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from muniment import files, moving, sources
from muniment import inscribe as one
from muniment.errors import Damaged
from muniment.inscribe import Begin, Done, Outcome, Rows, Task
from muniment.inscribe.rebuilding import look_up, progress_of, tasks_of
from muniment.inscribe.workers import Worker, conversation, workers
from muniment.sources.base import Found, SourceFile
from muniment.store import edits, evidence, index, listings, roster, versions
from muniment.store.damage_table import Of
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.roster import Roster
from muniment.store.rows import fit

COMMIT_BYTES = 1 << 30
SYNC_BYTES = 64 << 20
"""Of sources that were inscribed, before the disk is told to begin."""
HELD_BYTES = 16 << 20
"""Words of one session that may wait in memory for its end."""
FINISHED_BYTES = 4 << 20
"""Words of whole sessions that wait for each other."""
SESSION_BYTES = 8 << 10
"""What a session counts for beside its words."""

Report = Callable[[Outcome], None]
Seen = tuple[str, str, str]
"""Of a path: the session, its version, and the signature of what was there."""


class Plan(Struct, frozen=True):
    """What there is to do."""

    tasks: tuple[Task, ...]
    unchanged: int

    @property
    def bytes(self) -> int:
        return sum(f.size for task in self.tasks for f in task.found.files)


def plan(layout: Layout, found: Iterable[Found]) -> Plan:
    """Compare what was found with what is known; reads no session but those whose id may have changed."""
    registered = roster.load(layout)
    if not index.exists(layout):
        return _plan(list(found), {}, {}, lambda _: _Known(), registered)
    with Index(layout) as known:
        seen, agents = known.seen(), known.agents()
        same = [_as_known(session, seen, agents, layout) for session in found]
        return _plan(same, seen, agents, partial(_look_up, known), registered)


class _Known(Struct, frozen=True):
    """What a task needs to know of its session."""

    progress: dict[str, dict[str, bytes]] = {}
    tags: dict[int, str] = {}
    manifests: dict[str, bytes] = {}


def _look_up(known: Index, session_id: str) -> _Known:
    return _Known(progress_of(known, session_id), known.tags(session_id), known.manifests(session_id))


def _as_known(session: Found, seen: Mapping[str, Seen], agents: Mapping[str, str], layout: Layout) -> Found:
    """A file that only grew is the session that it was, though what it says now may give it another id."""
    source = sources.named(session.source)
    id_, _, signature = seen.get(fit(one.key_path(session)) or "", ("", "", ""))
    unnamed = source.named_by_content and id_ in agents and id_ != session.session_id
    if not unnamed or session.main is None or signature == one.signature(session):
        return session
    folder = layout.shelf(agents[id_], id_).evidence
    try:
        manifest = evidence.load(folder)
        if manifest is None or manifest.main is None or manifest.source != session.source:
            return session
        if manifest.bundled and versions.is_planted(folder, manifest, session.main, source):
            return session
        if versions.compare(folder, manifest.main, session.main, source) != "extends":
            return session
    except Damaged:  # whoever inscribes it mends what is known of it first
        return structs.replace(session, session_id=id_)
    except Exception:  # a session that cannot be read fails when it is inscribed, by its name
        return session
    return structs.replace(session, session_id=id_, native_id=manifest.native_id)


def _plan(
    found: list[Found],
    seen: dict[str, Seen],
    agents: dict[str, str],
    known: Callable[[str], _Known],
    registered: Roster,
) -> Plan:
    tasks: list[Task] = []
    unchanged = 0
    for session in found:
        if not any(file.size for file in session.files):
            continue  # nothing was written to it yet
        signature = one.signature(session)
        if seen.get(fit(one.key_path(session)) or "", ("", "", ""))[2] == signature:
            unchanged += 1
            continue
        agent_id = agents.get(session.session_id) or _bucket(session, registered)
        own = known(session.session_id)
        tasks.append(Task(session, agent_id, signature, own.progress, own.tags, manifests=own.manifests))
    return Plan(tuple(tasks), unchanged)


def _bucket(session: Found, registered: Roster) -> str:
    """Where a new session goes: to its role, else to its agent's family."""
    entry = registered.of(session.session_id)
    return moving.bucket(entry.role) if entry and entry.role else sources.named(session.source).family


def run(layout: Layout, todo: Plan, report: Report, waiting: Callable[[], None] = lambda: None) -> None:
    """Inscribe everything that is planned, reporting each session as it is done."""
    if not todo.tasks:
        return
    with index.lock(layout, waiting):
        if edits.moves(layout) and index.exists(layout):
            with Index(layout, write=True) as known:
                moving.finish(layout, known)
        left = [task.found for task in todo.tasks]
        while left:
            wave, left = _first_of_each(left)
            _carry_out_mending(layout, wave, report)


def _carry_out_mending(layout: Layout, wave: list[Found], report: Report) -> None:
    """Inscribe; a session whose evidence proves to be damaged is mended first, and then inscribed all the same."""
    hurt: dict[str, tuple[SourceFile, ...]] = {}
    todo = plan(layout, wave)
    planned = {task.found.session_id: task.found for task in todo.tasks}

    def hear(outcome: Outcome) -> None:
        if outcome.what == "failed" and outcome.problems and outcome.session_id in planned:
            hurt[outcome.session_id] = planned[outcome.session_id].files
        else:
            report(outcome)

    carry_out(layout, todo, hear)
    if hurt:
        mend(layout, [(id_, version) for id_ in hurt for version in ("", *_versions(layout, id_))], hurt, report)
        again = plan(layout, [planned[id_] for id_ in hurt])
        carry_out(layout, Plan(tuple(structs.replace(task, tried=True) for task in again.tasks), 0), report)


def _versions(layout: Layout, session_id: str) -> list[str]:
    with Index(layout) as known:
        agent_id = known.agents().get(session_id)
    return versions.names(layout.shelf(agent_id, session_id)) if agent_id else []


def mend(layout: Layout, hurt: Sequence[Of], sources_of: Mapping[str, tuple[SourceFile, ...]], report: Report) -> None:
    """Derive versions of sessions anew that are damaged, with what the sources still have of the evidence.

    The caller holds the lock."""
    with Index(layout) as known:
        agents = known.agents()
        formers = {id_: look_up(known, id_) for id_, _ in hurt}
    tasks = [
        structs.replace(task, marked=True)
        for id_, version in hurt
        if id_ in agents
        for shelf in [layout.shelf(agents[id_], id_)]
        for task in tasks_of(shelf, agents[id_], version, formers[id_], sources_of.get(id_, ()))
    ]
    for wave in waves(tuple(tasks)):
        carry_out(layout, Plan(wave, 0), report)


def waves(tasks: tuple[Task, ...]) -> Iterator[tuple[Task, ...]]:
    """Versions of one session one after the other."""
    left: list[Task] = list(tasks)
    while left:
        wave: dict[str, Task] = {task.found.session_id: task for task in reversed(left)}
        left = [task for task in left if wave[task.found.session_id] is not task]
        yield tuple(wave.values())


def carry_out(layout: Layout, now: Plan, report: Report, database: Path | None = None) -> None:
    """Do what is planned, at most one task per session, into the index or a new one."""
    with (
        _uncollected(),
        _cleared(layout),
        workers(layout, now.tasks) as pool,
        Index(layout, write=True, path=database) as target,
    ):
        _Writer(layout, target, report).run(pool, now.tasks)


@contextlib.contextmanager
def _cleared(layout: Layout) -> Generator[None]:
    """What a session that failed left where sessions are put together, goes."""
    try:
        yield
    finally:
        shutil.rmtree(layout.unseen, ignore_errors=True)


@contextlib.contextmanager
def _uncollected() -> Generator[None]:
    """Without the garbage collector, here and in the workers: sessions are trees of values without cycles.

    On two cores and a memory disk 300 MB took 3.8 to 3.9 s without it and 4.7 to 5.3 s with it, three runs each."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # all that is there counts as old, without a look at it:
        gc.unfreeze()  # the first collection would look at every value that was made meanwhile
        if was_on:
            gc.enable()


def _first_of_each(found: list[Found]) -> tuple[list[Found], list[Found]]:
    """Copies of one session are inscribed one after the other: each must know what the former left."""
    first: dict[str, Found] = {}
    later: list[Found] = []
    for session in found:
        if session.session_id in first:
            later.append(session)
        else:
            first[session.session_id] = session
    return list(first.values()), later


# -- the process that writes the index


class _Writer:
    """Takes rows from the workers and puts them into the index."""

    def __init__(self, layout: Layout, target: Index, report: Report) -> None:
        self.layout = layout
        self.target = target
        self.report = report
        self.held: dict[int, list[Begin | Rows]] = {}
        """What the workers said about sessions that are not done: a session that fails leaves no trace."""
        self.held_bytes: dict[int, int] = {}
        self.finished: list[tuple[int, list[Begin | Rows], Done]] = []
        """Sessions that are done and not yet in the index, and who told of them."""
        self.finished_bytes = self.most_finished = 0
        self.begun: dict[int, tuple[int, Begin]] = {}
        self.refused: dict[int, str] = {}
        """By worker, why the index did not take what it said of a session: the rest of that is not put in either."""
        self.uncommitted = 0
        self.obsolete: list[str] = []
        """Files that go once what took their place is durable."""
        self.syncing: files.Syncing | None = None
        self.synced = 0
        """Of the uncommitted bytes, those that were done when it began."""

    def run(self, pool: list[Worker], tasks: Sequence[Task]) -> None:
        """Keep every worker busy until nothing is left. An interruption commits what is whole."""
        self.most_finished = 0 if pool else FINISHED_BYTES
        self.target.begin()
        try:
            for worker, message in conversation(self.layout, pool, tasks):
                self.take(worker, message)
            self._put_finished()
        finally:
            if sys.exc_info()[0] in (None, KeyboardInterrupt):
                self._drop_unfinished()
                self._put_finished()  # what an interruption left waiting
                listings.write_archive_listings(self.layout, self.target)
                self._commit()
            else:
                self.target.rollback()

    def _sync_early(self) -> None:
        """Let the disk begin before the end, so that less is left to wait for."""
        if self.uncommitted - self.synced < SYNC_BYTES or (self.syncing and self.syncing.is_alive()):
            return
        if self.syncing:
            self.syncing.wait()
        self.syncing, self.synced = files.Syncing(self.layout.sessions), self.uncommitted

    def _commit(self) -> None:
        if self.syncing:
            self.syncing.wait()
        self.target.commit()
        for path in self.obsolete:
            with contextlib.suppress(OSError):  # a folder that somebody put in its place
                Path(path).unlink(missing_ok=True)
        self.obsolete = []
        self.uncommitted = self.synced = 0

    def take(self, worker: int, message: Any) -> None:
        match message:
            case Begin() | Rows():
                self._hold(worker, message)
            case Done():
                self._finish(worker, message)
            case Outcome():
                if message.what == "failed":  # else it is told when the index has the session
                    self._drop(worker, message.session_id)
                    self.report(message)
            case _:
                raise AssertionError(f"unexpected message {message!r}")

    def _hold(self, worker: int, message: Begin | Rows) -> None:
        """Rows wait for the end of their session; those of a very large one cannot."""
        self.held.setdefault(worker, []).append(message)
        size = message.text_bytes if isinstance(message, Rows) else 0
        self.held_bytes[worker] = self.held_bytes.get(worker, 0) + size
        if self.held_bytes[worker] > HELD_BYTES:
            self._put_finished()  # what this worker said before comes first
            self._put(worker, self.held.pop(worker))
            self.held_bytes[worker] = 0

    def _finish(self, worker: int, message: Done) -> None:
        """A session is whole. Without workers it waits for others: between two sessions the index grows cold in the
        processor's cache, and many together cost a tenth less. Workers would have to wait meanwhile, which costs more.
        """
        self.finished.append((worker, self.held.pop(worker, []), message))
        self.finished_bytes += SESSION_BYTES + self.held_bytes.pop(worker, 0)
        if self.finished_bytes > self.most_finished:
            self._put_finished()

    def _put_finished(self) -> None:
        """One by one: an interruption costs no more than the session that is under way."""
        while self.finished:
            worker, said, done = self.finished.pop(0)
            self._put(worker, [*said, done])
            why = self.refused.pop(worker, "")
            self.report(structs.replace(done.outcome, what="failed", problems=(), note=why) if why else done.outcome)
        self.finished_bytes = 0

    def _put(self, worker: int, said: Sequence[Begin | Rows | Done]) -> None:
        """Put what was said of one session into the index. What it cannot hold fails alone: else one session that is
        made up so that its rows collide would keep all others from being inscribed."""
        for message in said if worker not in self.refused else ():
            try:
                self._put_message(worker, message)
            except index.UNFIT as error:
                self._refuse(worker, message, error)
                return

    def _put_message(self, worker: int, message: Begin | Rows | Done) -> None:
        match message:
            case Begin():
                self._begin(worker, message)
            case Rows():
                self._rows(worker, message)
            case Done():
                self._done(message)

    def _refuse(self, worker: int, message: Begin | Rows | Done, error: Exception) -> None:
        """Take a session out of the index again. A savepoint would cost more: each one writes out the words so far."""
        _, begun = self.begun.pop(worker, (0, None))
        told = begun or (message.row if isinstance(message, Done) else message)
        assert not isinstance(told, Rows), "rows follow the beginning of their transcript"
        self.target.drop(told.session_id)
        self.refused[worker] = f"the index cannot hold it ({error}); its evidence is kept"

    def _drop(self, worker: int, session_id: str) -> None:
        """Of a session that failed after some of its rows had to be let in, everything is read again next time."""
        self.held.pop(worker, None)
        self.refused.pop(worker, None)
        self.held_bytes[worker] = 0
        _, begun = self.begun.pop(worker, (0, None))
        if begun and begun.session_id == session_id:
            self.target.distrust(session_id)

    def _drop_unfinished(self) -> None:
        """Of a session that an interruption cut off on its way into the index, some rows are there already."""
        for worker, (_, begun) in list(self.begun.items()):
            self._drop(worker, begun.session_id)

    def _begin(self, worker: int, message: Begin) -> None:
        key = self.target.session_key(message.session_id, message.agent_id, message.source)
        self.begun[worker] = (key, message)
        if message.indexed:
            place = (message.sidechain, message.round, message.offset, message.same)
            self.target.clear_from(key, message.session_id, *place)

    def _rows(self, worker: int, message: Rows) -> None:
        key, begun = self.begun[worker]
        self.target.put_rounds(message.rounds, begun.agent_id)
        self.target.put_branches(key, message.branches)
        self.target.move_texts(key, message.moves)
        self.target.put_texts(key, message.texts)
        self.target.put_usage(key, message.usage)

    def _done(self, message: Done) -> None:
        row = message.row
        key = self.target.session_key(row.session_id, row.agent_id, row.facts.source)
        if message.moved:
            self.target.put_version(key, *message.moved)
            self.target.set_aside(row.session_id, message.moved[0])
        if message.version:
            self.target.put_version(key, message.version, message.source_path, row.facts)
        else:
            self.target.put_session(key, row)
        self.begun = {w: (k, b) for w, (k, b) in self.begun.items() if b.session_id != row.session_id}
        self.target.put_state(message.source_path, row.session_id, message.version, message.signature, message.progress)
        if message.manifest:
            self.target.put_manifest(row.session_id, message.version, message.manifest)
        if message.damage is not None:
            self.target.mark_damage(row.session_id, message.version, message.damage, tried=True)
        self.obsolete += message.obsolete
        self.uncommitted += row.source_bytes
        self._sync_early()
        if self.uncommitted > COMMIT_BYTES:
            self._commit()
            self.target.begin()
