"""Building everything that is derived anew from the evidence: rounds, documents, indexes, listings.

The evidence is read through the same inscription as a source. What people wrote (the summary lines) stays, because
documents are replaced and never removed, and so does what extraction found, and what the old index knew of files on
this machine. The new index takes the place of the old one at the end.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from muniment import batch, files, moving
from muniment.batch import Plan, Report
from muniment.errors import MunimentError
from muniment.ingest import settle
from muniment.inscribe import Progress, Task
from muniment.inscribe.rebuilding import Former, look_up, tasks_of
from muniment.model import codec
from muniment.sources.base import Found
from muniment.store import edits, engagements, evidence, index, listings, versions
from muniment.store.damage_table import Of
from muniment.store.index import Index
from muniment.store.layout import Layout


def reindex(layout: Layout, report: Report) -> int:
    """Rebuild the whole archive; gives the number of sessions."""
    with index.lock(layout, lambda: None):
        files.remove_temporaries(layout.sessions)
        moving.finish_files(layout)
        tasks = _tasks(layout, layout.shelved(), _formers(layout))
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


def take_up(layout: Layout, found: Iterable[Found], report: Report, waiting: Callable[[], None]) -> None:
    """Put sessions into the index that are in the store and not in it, and mend those that are damaged.

    Of strays whose evidence is beyond that nothing is reported: they would fail every run. A diagnosis names them."""
    if not unlisted(layout) and not _hurt(layout):
        return
    with index.lock(layout, waiting):  # whoever held it may have been about to tell of them
        tasks = _tasks(layout, unlisted(layout), {})
        if tasks:
            _carry_out(layout, tasks, lambda outcome: report(outcome) if outcome.what != "failed" else None)
        if hurt := _hurt(layout):
            batch.mend(layout, hurt, {one.session_id: one.files for one in found}, report)


def _hurt(layout: Layout) -> list[Of]:
    """Versions of sessions that are damaged, and that nobody tried to mend since that was found."""
    with Index(layout) as known:
        return sorted({(one.session_id, one.version) for one in known.damage() if not one.tried})


def _formers(layout: Layout) -> dict[str, Former]:
    """What the old index knows of every session, as far as it can be read."""
    found: dict[str, Former] = {}
    with contextlib.suppress(MunimentError, msgspec.MsgspecError, ValueError, TypeError), Index(layout) as old:
        for session_id in old.agents():
            found[session_id] = look_up(old, session_id)
    return found


def _carry_out(layout: Layout, tasks: Sequence[Task], report: Report, database: Path | None = None) -> None:
    """Sessions as they are now first, then their older versions; an archive without sessions still gets its index."""
    for version in (False, True):
        chosen = tuple(task for task in tasks if bool(task.rebuild) is version)
        for wave in list(batch.waves(chosen)) or [()]:
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
        listings.write_archive_listings(layout, known)  # with the summaries that stand there only now
        if layout.engagements.exists():
            engagements.write_listing(layout)
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


def _tasks(layout: Layout, shelved: Iterable[tuple[str, str]], formers: Mapping[str, Former]) -> list[Task]:
    return [
        task
        for agent_id, session_id in shelved
        for shelf in [layout.shelf(agent_id, session_id)]
        for version in ("", *versions.names(shelf))
        for task in tasks_of(shelf, agent_id, version, formers.get(session_id))
    ]


def _replace(fresh: Path, database: Path) -> None:
    """The new index in place of the old one, whose write-ahead log must go with it."""
    for suffix in ("-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)
    if fresh.exists():
        files.free_place(database)
        os.replace(fresh, database)
    _remove(fresh)
    files.sync(database.parent)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
