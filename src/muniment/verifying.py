"""Verifying the originals in the archive against their checksums, and remembering when that was done.

A disk may damage a byte at any time and nobody is told. So a watch reads all originals once a month, `check --stored`
at once, and `doctor` those that nobody has verified lately, as many as a moment allows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from muniment.errors import MunimentError
from muniment.store import evidence, index, versions
from muniment.store.index import Index
from muniment.store.layout import Layout, Shelf
from muniment.store.notes import Notes
from muniment.store.session_table import Listed
from muniment.sweeping import Sweep

if TYPE_CHECKING:
    from muniment.check import Checked

FRESH_SECONDS = 30 * 86_400
"""So long a verification counts."""


class Verified(Struct, frozen=True):
    """A session whose originals were whole when they were read."""

    session_id: str
    revision: str
    at: float
    """Seconds since 1970."""


def revision(row: Listed) -> str:
    """Return what changes when the originals of a session do."""
    return f"{row.source_bytes}.{row.versions}.{row.sidechains}.{row.ended or ''}"


def load(layout: Layout, rows: Iterable[Listed]) -> dict[str, Verified]:
    """Return what was verified lately of these sessions as they are now."""
    known = _notes(layout).load({row.session_id: revision(row) for row in rows})
    oldest = time.time() - FRESH_SECONDS
    return {id_: one for id_, one in known.items() if one.at >= oldest}


def note(layout: Layout, rows: Iterable[Listed]) -> None:
    """Remember that the originals of these sessions are whole."""
    if notes := [Verified(row.session_id, revision(row), time.time()) for row in rows]:
        _notes(layout).add(*notes)


def remember(layout: Layout, reports: Iterable[Checked]) -> Iterator[Checked]:
    """Pass the reports of a check on; at its end, remember which sessions it found whole as they were before it."""
    rows = _rows(layout)
    sound: dict[str, bool] = {}
    for one in reports:
        sound[one.session_id] = sound.get(one.session_id, True) and not one.note
        yield one
    after = {row.session_id: revision(row) for row in _rows(layout)}
    whole = [row for row in rows if sound.get(row.session_id) and after.get(row.session_id) == revision(row)]
    with suppress(OSError):  # an archive that may only be read can be checked too
        note(layout, whole)


def _rows(layout: Layout) -> list[Listed]:
    """All sessions, as far as the index can be read."""
    with suppress(MunimentError), Index(layout) as known:
        return list(known.sessions())
    return []


def forget(layout: Layout, session_id: str) -> None:
    """Take out what is known of a session."""
    _notes(layout).forget(session_id)


def find_due(layout: Layout, known: Index) -> list[Listed]:
    """The sessions to verify, the latest first. What is marked as damaged already would only lose the mark that says
    whether a run has tried to mend it."""
    rows = list(known.sessions())
    done = load(layout, rows).keys() | {one.session_id for one in known.damage()}
    return [row for row in rows if row.session_id not in done]


def is_whole(layout: Layout, row: Listed) -> bool:
    """Tell whether all originals of a session, older versions included, are what they were."""
    return all(_verify(layout.shelf(row.agent_id, row.session_id)))


def _verify(shelf: Shelf) -> Iterator[bool]:
    """Whether each original of a session is what it was, one after the other."""
    for folder in (shelf.evidence, *(shelf.version(name).evidence for name in versions.names(shelf))):
        try:
            manifest = evidence.load(folder)
        except (MunimentError, OSError):
            manifest = None
        yield manifest is not None
        for kept in manifest.files if manifest else ():
            yield not evidence.damaged_frames(folder, kept)


class Verification(Sweep):
    """The verification of all sessions that nobody has verified lately."""

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.layout = layout

    def begin(self) -> Iterator[None]:
        if not index.exists(self.layout):
            return
        with Index(self.layout) as known:
            rows, due = list(known.sessions()), find_due(self.layout, known)
        if due:
            _notes(self.layout).replace(load(self.layout, rows).values())
        for row in due:
            yield from self._look_at(row)

    def _look_at(self, row: Listed) -> Iterator[None]:
        """Verify one session. What looks damaged may only be under way, so the check that knows about writers decides,
        and marks it for the next run to mend."""
        whole = True
        for sound in _verify(self.layout.shelf(row.agent_id, row.session_id)):
            whole = whole and sound
            yield
        if whole:
            note(self.layout, [row])
        else:
            mark_damage(self.layout, [row])
            yield


def mark_damage(layout: Layout, rows: Iterable[Listed]) -> None:
    """Check these sessions thoroughly; what is damaged is marked in the index."""
    from muniment import integrity  # what it compares with takes longer to import than most commands

    for _ in integrity.check_archive(layout, [(row.agent_id, row.session_id) for row in rows]):
        pass


def _notes(layout: Layout) -> Notes[Verified]:
    return Notes(layout.verified, Verified)
