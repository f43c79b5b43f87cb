"""What people and agents said about the sessions of a bundle: edits, names, what was found, what was told.

Nothing said here is unsaid: of two decisions about the same thing the later one counts, a name that is registered
stays, and what this archive understood of a session stays too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from muniment.bundle import contents
from muniment.errors import StoreError
from muniment.ingest import settle
from muniment.model import codec
from muniment.model.engagements import Ingested
from muniment.prospective import kept as prospective
from muniment.prospective import sheet
from muniment.store import edits, engagements, index, listings, roster
from muniment.store.edits import Edit
from muniment.store.index import Index
from muniment.store.layout import Layout, short_id
from muniment.store.roster import Entry, Roster

T = TypeVar("T")
_KINDS = ("engagement", "tags", "continued")
"""Decisions and notes that travel; where a session lies is for each archive to decide."""


def require_sound(folder: Path, sessions: set[str]) -> None:
    """Everything can be read and speaks of these sessions. Raises StoreError."""
    told = [*_lines(folder / contents.EDITS, Edit), *_lines(folder / contents.RECORDS, Ingested)]
    if any(one.session_id not in sessions for one in told):
        raise StoreError("the bundle speaks of sessions that it does not hold", "it was tampered with")
    for entry in _lines(folder / contents.ROSTER, Entry):
        if not any(session.startswith(entry.session_id) for session in sessions) or len(entry.session_id) < 8:
            raise StoreError("the bundle names agents of sessions that it does not hold", "it was tampered with")
    for data in _told(folder):
        record = sheet.parse(data).record
        if not any(touch.session_id in sessions for touch in record.sessions):
            raise StoreError(f"the bundle tells of {record.id}, which is of other sessions", "it was tampered with")


def _lines(path: Path, type_: type[T]) -> Iterator[T]:
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        if line:
            try:
                yield codec.decode(line, type_)
            except (msgspec.MsgspecError, ValueError):
                raise StoreError(f"{path.name} cannot be read", "it was damaged or tampered with") from None


def _told(folder: Path) -> Iterator[bytes]:
    for path in sorted((folder / contents.TOLD).glob("*.md")):
        yield path.read_bytes()


def take_over(layout: Layout, folder: Path, agents: Mapping[str, str]) -> None:
    """What is said in the bundle and not yet here."""
    _edits(layout, folder)
    _names(layout, folder, agents)
    prospective.add(layout, _told(folder))
    here = {record.session_id for record in engagements.load(layout)}
    fresh = [
        msgspec.structs.replace(record, agent_id=agents[record.session_id])
        for record in _lines(folder / contents.RECORDS, Ingested)
        if record.session_id not in here
    ]
    if fresh:
        engagements.put(layout, fresh)
        engagements.write_listing(layout)


def _names(layout: Layout, folder: Path, agents: Mapping[str, str]) -> None:
    """Who the sessions were, under prefixes that fit no other session of this archive."""
    known, told = roster.load(layout), Roster(tuple(_lines(folder / contents.ROSTER, Entry)))
    ids = index.session_ids(layout) | agents.keys()
    for session_id in sorted(agents):
        entry = told.of(session_id)
        if entry and known.of(session_id) is None:
            prefix = short_id(session_id, ids - {session_id})
            roster.put(layout, msgspec.structs.replace(entry, session_id=prefix))


def _edits(layout: Layout, folder: Path) -> None:
    latest = {_about(edit): edit for edit in edits.every(layout)}
    for edit in sorted(_lines(folder / contents.EDITS, Edit), key=lambda edit: edit.at):
        known = latest.get(_about(edit))
        if edit.kind in _KINDS and (known is None or known.at < edit.at):
            edits.append(layout, edit)


def _about(edit: Edit) -> tuple[str, str, int | None]:
    return edit.kind, edit.session_id, edit.round


def apply(layout: Layout, sessions: set[str]) -> None:
    """What is said of these sessions, into their files and the index."""
    records = {record.session_id: record for record in engagements.load(layout) if record.session_id in sessions}
    with Index(layout, write=True) as index:
        agents = index.agents()
        index.begin()
        for session_id in sessions & agents.keys():
            index.put_tags(session_id, edits.tags(layout, session_id))
            if record := records.get(session_id):
                settle.in_index(layout, index, record, settle.in_files(layout, record, agents[session_id]))
            else:
                index.tag(session_id, edits.engagements(layout, session_id))
                settle.by_hand(layout, session_id, agents[session_id])
        listings.write_archive_listings(layout, index)
        index.commit()
