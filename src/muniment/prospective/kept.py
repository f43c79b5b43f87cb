"""The copies of `engagement.md` files in the store, so that they outlive the project.

<store>/data/engagements/<id>.md        as the file was when it was last seen, byte for byte

Files are found where sessions ran: in the recorded working folder, if it is still there, or above it. Two projects may
use the same id; engagements that began at different times are different ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from muniment import files
from muniment.errors import MunimentError
from muniment.prospective import folder, sheet
from muniment.prospective.record import Record
from muniment.store.layout import Layout


class Known(Struct, frozen=True):
    """Every engagement that agents told of, and what the store has to copy."""

    records: tuple[Record, ...] = ()
    fresh: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Copies that are missing or older than the file, by name."""

    def of(self, *session_ids: str | None) -> tuple[Record, ...]:
        """Those that name a session, by any of its ids."""
        names = {id_.lower() for id_ in session_ids if id_}
        return tuple(r for r in self.records if any(touch.session_id.lower() in names for touch in r.sessions))


def gather(layout: Layout, cwds: Iterable[str | None], env: Mapping[str, str]) -> Known:
    """What the folders of these sessions and the store know together; the later word counts. Writes nothing."""
    newest = {name: (data, record) for name, data, record in copies(layout)}
    fresh: dict[str, bytes] = {}
    for told in _live(cwds, env):
        if told.record is None:
            continue
        name = _name(told.record, newest)
        known = newest.get(name)
        if known is None or (known[0] != told.data and known[1].updated <= told.record.updated):
            newest[name] = (told.data, told.record)
            fresh[name] = told.data
    return Known(tuple(record for _, record in newest.values()), fresh)


def _live(cwds: Iterable[str | None], env: Mapping[str, str]) -> Iterator[folder.Told]:
    roots = {folder.root(Path(cwd), env) for cwd in {*cwds} if cwd and Path(cwd).is_dir()}
    if env.get(folder.VARIABLE):
        roots.add(folder.root(Path(), env))
    for root in sorted(roots):
        yield from folder.every(root)


def copies(layout: Layout) -> Iterator[tuple[str, bytes, Record]]:
    """What the store has: names, bytes and records; a copy that cannot be read stays where it is."""
    if not layout.prospective.is_dir():
        return
    for path in sorted(layout.prospective.glob("*.md")):
        try:
            data = path.read_bytes()
            yield path.name, data, sheet.parse(data).record
        except (MunimentError, OSError):
            continue


def _name(record: Record, taken: Mapping[str, tuple[bytes, Record]]) -> str:
    own = f"{record.id}.md"
    if own not in taken or taken[own][1].started == record.started:
        return own
    return f"{record.id}~{hashlib.sha256(record.started.encode()).hexdigest()[:8]}.md"


def keep(layout: Layout, fresh: Mapping[str, bytes]) -> None:
    """Write copies."""
    for name, data in fresh.items():
        files.write_if_changed(layout.prospective / name, data)


def add(layout: Layout, given: Iterable[bytes]) -> None:
    """Copies from elsewhere: each under its name, unless the store has a later one."""
    newest = {name: (data, record) for name, data, record in copies(layout)}
    for data in given:
        record = sheet.parse(data).record
        name = _name(record, newest)
        if name not in newest or newest[name][1].updated < record.updated:
            newest[name] = (data, record)
            keep(layout, {name: data})


def mark(told: Iterable[Record]) -> str:
    """Changes whenever something that was told of a session does; empty if nothing was."""
    said = sorted((record.id, record.started, record.updated, record.phase) for record in told)
    return hashlib.sha256(repr(said).encode()).hexdigest()[:8] if said else ""
