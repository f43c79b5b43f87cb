"""Building everything that is derived anew from the evidence: rounds, documents, indexes, listings.

The evidence is read through the same inscription as a source. What people wrote (the summary lines) stays, because
documents are replaced and never removed, and so does what extraction found, and what the old index knew of files on
this machine. The new index takes the place of the old one at the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from muniment import batch, files, moving
from muniment.batch import Plan, Report
from muniment.errors import MunimentError
from muniment.ingest import settle
from muniment.inscribe import Progress, Task
from muniment.model import codec
from muniment.sources.base import Found, SourceFile
from muniment.store import edits, engagements, evidence, index, versions
from muniment.store.index import Index
from muniment.store.layout import Layout, Shelf


def reindex(layout: Layout, report: Report) -> int:
    """Rebuild the whole archive; gives the number of sessions."""
    with index.lock(layout, lambda: None):
        files.remove_temporaries(layout.sessions)
        moving.finish_files(layout)
        tasks = _tasks(layout, layout.shelved())
        fresh = files.temporary_beside(layout.database)
        _remove(fresh)
        _carry_out(layout, tasks, report, fresh)
        _understood(layout, fresh)
        _seen(layout, fresh)
        _replace(fresh, layout.database)
    return len({task.found.session_id for task in tasks})


def unlisted(layout: Layout) -> list[tuple[str, str]]:
    """Bucket and id of sessions that are whole in the store, and that the index does not know.

    A run that was killed, or met a full disk, leaves such; or one that is under way right now."""
    known = index.session_ids(layout)
    strays = [(agent_id, id_) for agent_id, id_ in layout.shelved() if id_ not in known]
    return [(agent_id, id_) for agent_id, id_ in strays if evidence.exists(layout.shelf(agent_id, id_).evidence)]


def take_up(layout: Layout, report: Report, waiting: Callable[[], None]) -> None:
    """Put sessions into the index that are in the store and not in it.

    Of those whose evidence is damaged nothing is reported: they would fail every run. A diagnosis names them."""
    if not unlisted(layout):
        return
    with index.lock(layout, waiting):  # whoever held it may have been about to tell of them
        tasks = _tasks(layout, filter(partial(_is_readable, layout), unlisted(layout)))
        if tasks:
            _carry_out(layout, tasks, lambda outcome: report(outcome) if outcome.what != "failed" else None)


def _is_readable(layout: Layout, shelved: tuple[str, str]) -> bool:
    try:
        return evidence.load(layout.shelf(*shelved).evidence) is not None
    except MunimentError:
        return False


def _carry_out(layout: Layout, tasks: Sequence[Task], report: Report, database: Path | None = None) -> None:
    """Sessions as they are now first, then their older versions."""
    for version in (False, True):
        chosen = tuple(task for task in tasks if bool(task.rebuild) is version)
        for wave in _waves(chosen):
            batch.carry_out(layout, Plan(wave, 0), report, database)


def _understood(layout: Layout, fresh: Path) -> None:
    """What extraction found and people decided stands in files of its own and is applied again."""
    with Index(layout, write=True, path=fresh) as known:
        agents = known.agents()
        known.begin()
        named = edits.tagged(layout)
        for record in engagements.load(layout):
            named.pop(record.session_id, None)
            if agent_id := agents.get(record.session_id):
                settle.in_index(layout, known, record, settle.in_files(layout, record, agent_id))
        for session_id in named.keys() & agents.keys():
            settle.by_hand(layout, session_id, agents[session_id])
        known.commit()


def _seen(layout: Layout, fresh: Path) -> None:
    """Which files are in the store, as far as the old index can be read: nobody needs to look at them again.

    It is believed of sessions only whose evidence was read as far as it had been. How to go on from there is for the
    new index to say."""
    try:
        with Index(layout) as old:
            seen, before = old.seen(), _read(old)
    except (MunimentError, msgspec.MsgspecError, ValueError):
        return
    with Index(layout, write=True, path=fresh) as known:
        after = _read(known)
        known.begin()
        for path, (session_id, version, signature) in seen.items():
            if (read := after.get((session_id, version))) and read == before.get((session_id, version)):
                known.put_state(path, session_id, version, signature, ())
        known.commit()


def _read(known: Index) -> dict[tuple[str, str], set[tuple[str, int, int]]]:
    """Of each version of a session its transcripts: name, bytes read, and of which edition."""
    read: dict[tuple[str, str], set[tuple[str, int, int]]] = {}
    for session_id, version, name, state in known.rows("SELECT session_id, version, name, state FROM progress"):
        progress = codec.decode(state, Progress)
        read.setdefault((session_id, version), set()).add((name, progress.size, progress.edition))
    return read


def _waves(tasks: tuple[Task, ...]) -> Iterator[tuple[Task, ...]]:
    """Versions of one session one after the other; an archive without sessions still gets its index."""
    left = list(tasks)
    first = True
    while left or first:
        first = False
        wave = {task.found.session_id: task for task in reversed(left)}
        left = [task for task in left if wave[task.found.session_id] is not task]
        yield tuple(wave.values())


def _tasks(layout: Layout, shelved: Iterable[tuple[str, str]]) -> list[Task]:
    return [
        task
        for agent_id, session_id in shelved
        for shelf in [layout.shelf(agent_id, session_id)]
        for version in ("", *versions.names(shelf))
        for task in tasks_of(shelf, agent_id, version)
    ]


def tasks_of(shelf: Shelf, agent_id: str, version: str) -> Iterator[Task]:
    """One version of a session to be derived anew; "" is the current one, and one without evidence is none."""
    own = shelf.version(version) if version else shelf
    manifest = evidence.load(own.evidence)
    if manifest is None or not manifest.files:
        return
    kept = tuple(SourceFile(k.path, k.name, k.role, k.size, k.mtime_ns, id=k.id) for k in manifest.files)
    found = Found(manifest.source, manifest.session_id, manifest.root, manifest.home, kept, manifest.native_id)
    yield Task(found, agent_id, "", {}, rebuild=version)


def _replace(fresh: Path, database: Path) -> None:
    """The new index in place of the old one, whose write-ahead log must go with it."""
    for suffix in ("-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)
    if fresh.exists():
        os.replace(fresh, database)
    _remove(fresh)
    files.sync(database.parent)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
