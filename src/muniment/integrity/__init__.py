"""Is what lies in the archive what it should be? All of it is read, beside whoever writes to it.

A session that is being written looks damaged for a moment. So whatever looks so is looked at again while nobody writes,
and only that counts. Damage is marked in the index: `doctor` tells of it, and the next `inscribe` or `up` mends it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from muniment.check import Checked
from muniment.errors import MunimentError
from muniment.integrity import index_rows
from muniment.integrity.records import check_index, check_records
from muniment.integrity.sessions import SURPLUS, Stored, check_session, report
from muniment.model import Problem
from muniment.store import index
from muniment.store.index import Index
from muniment.store.layout import Layout, session_folder

__all__ = ["check_archive", "check_records"]

Key = tuple[str, str]
"""Bucket and id of a session."""


def check_archive(
    layout: Layout, chosen: Sequence[Key] | None = None, waiting: Callable[[], None] = lambda: None
) -> Iterator[Checked]:
    """Check everything, or these sessions: a report for each transcript, and for what else is damaged."""
    keys = _every(layout) if chosen is None else list(chosen)
    again: list[Key] = []
    marked = _marked(layout)
    for key in keys:
        reports = _check(layout, key)
        if any(one.note for one in reports) or (chosen is not None and key[1] in marked):
            again.append(key)  # or it is being written just now, or it is whole again
        else:
            yield from reports
    others = _check_others(layout) if chosen is None else []
    if again or others:
        yield from _check_alone(layout, again, chosen is None, waiting)
    elif chosen is None and index.exists(layout):
        _unmark(layout)


def _check_alone(layout: Layout, keys: list[Key], all_of_it: bool, waiting: Callable[[], None]) -> list[Checked]:
    """The same while nobody writes; where the archive may not be written, nobody else does either."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, MunimentError):
            stack.enter_context(index.lock(layout, waiting))
        there = set(_every(layout))  # some may have been forgotten or moved meanwhile
        found = [(key, _check(layout, key)) for key in keys if key in there]
        others = _check_others(layout) if all_of_it else []
        with contextlib.suppress(OSError, MunimentError):
            _mark(layout, found, others, all_of_it)
    return [*(one for _, reports in found for one in reports), *(report("", [problem]) for problem in others)]


def _every(layout: Layout) -> list[Key]:
    """All sessions that lie there, and all that the index knows."""
    known: dict[str, str] = {}
    with contextlib.suppress(MunimentError), Index(layout) as archive:
        known = archive.agents()
    strays = {key for key in layout.shelved() if key[1] not in known and layout.shelf(*key).evidence.exists()}
    return sorted(strays | {(agent_id, id_) for id_, agent_id in known.items()})


def _check(layout: Layout, key: Key) -> list[Checked]:
    """One session; whatever goes wrong meanwhile is damage, or the work of somebody who writes."""
    try:
        return list(check_session(_look_up(layout, key)))
    except Exception as error:  # a session that nobody foresaw must not hide what is wrong with others
        shelf = layout.shelf(*key)
        return [report(key[1], [Problem(str(shelf.folder), 0, str(error) or type(error).__name__)])]


def _look_up(layout: Layout, key: Key) -> Stored:
    """A session with what the index says of it, as far as that can be read."""
    agent_id, session_id = key
    shelf = layout.shelf(agent_id, session_id)
    if not index.exists(layout):
        return Stored(shelf, agent_id)
    try:
        with Index(layout) as known:
            known.db.execute("BEGIN")  # all of it in one state, whoever writes meanwhile
            rows = index_rows.load(known, session_id, session_folder(agent_id, session_id))
        return Stored(shelf, agent_id, rows, "" if rows else "does not know it")
    except MunimentError:
        return Stored(shelf, agent_id)  # that the index cannot be read is told once, of all of it
    except index_rows.GARBLED:
        return Stored(shelf, agent_id, None, "has rows of it that cannot be read")


def _check_others(layout: Layout) -> list[Problem]:
    return [*check_records(layout), *check_index(layout)]


# -- marks


def _marked(layout: Layout) -> set[str]:
    """The sessions that are known to be damaged."""
    with contextlib.suppress(MunimentError), Index(layout) as known:
        return {one.session_id for one in known.damage()}
    return set()


def _mark(layout: Layout, found: list[tuple[Key, list[Checked]]], others: list[Problem], all_of_it: bool) -> None:
    """Note in the index what is damaged, in place of what was known."""
    with Index(layout, write=True) as known:
        known.begin()
        if all_of_it:
            known.unmark_damage()
        for (_, session_id), reports in found:
            by_version: dict[str, list[Problem]] = {}
            for one in (one for one in reports if one.note != SURPLUS):
                by_version.setdefault(one.version, []).extend(_in_archive(layout, one))
            for version, problems in by_version.items():
                known.mark_damage(session_id, version, problems, tried=False)
        if all_of_it:
            known.mark_damage("", "", others, tried=True)
        known.commit()


def _in_archive(layout: Layout, checked: Checked) -> list[Problem]:
    """Damage of the archive, without that which a source came with."""
    own = f"{layout.root}/"
    return [problem for problem in checked.problems if problem.path.startswith(own)]


def _unmark(layout: Layout) -> None:
    """Nothing is damaged: what was marked is mended."""
    with contextlib.suppress(OSError, MunimentError):
        with Index(layout) as known:
            if not any(known.rows("SELECT 1 FROM damage LIMIT 1")):
                return
        with index.lock(layout, lambda: None), Index(layout, write=True) as known:
            known.begin()
            known.unmark_damage()
            known.commit()
