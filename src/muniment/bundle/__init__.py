"""Bundles: sessions as one file, for another machine or a teammate, and back into an archive.

contents    what a bundle is
pack        a store's sessions into a file
redacted    the same without secrets
unpack      a stranger's file into a folder of its own, verified
verify      whether its evidence is whole, and where it may go
place       into the store, as an inscription would
said        what people and agents said about the sessions
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from muniment import files, reindex
from muniment.bundle import pack, place, redacted, said, unpack, verify
from muniment.bundle.contents import Bundled, Limits
from muniment.bundle.place import Placed
from muniment.errors import StoreError
from muniment.moving import bucket
from muniment.store import index, roster
from muniment.store.index import Index, Listed
from muniment.store.layout import Layout, safe_name

__all__ = ["Limits", "Packed", "Placed", "bundle", "unbundle"]


class Packed(Struct, frozen=True):
    """What was bundled."""

    path: str
    bytes: int
    sessions: tuple[str, ...]
    redacted: bool = False
    secrets: int = 0
    """How many were taken out."""
    left_out: int = 0
    """Files and lines that could not be looked through."""


def bundle(
    layout: Layout, sessions: Sequence[Listed], target: Path, redact: bool = False, force: bool = False
) -> Packed:
    """Pack sessions into one file."""
    target = target.absolute()
    ids = tuple(session.session_id for session in sessions)
    with index.lock(layout, lambda: None):
        if not redact:
            return Packed(str(target), pack.pack(layout, sessions, target, force=force), ids)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".muniment-") as folder:
            made, hidden = redacted.copy(layout, sessions, Path(folder))
            size = pack.pack(made, sessions, target, redacted=True, force=force)
    return Packed(str(target), size, ids, True, hidden.secrets, hidden.left_out)


def unbundle(layout: Layout, path: Path, limits: Limits | None = None, dry_run: bool = False) -> list[Placed]:
    """Verify a bundle, whole, and then put its sessions into the store."""
    limits = limits or Limits()
    if (not index.exists(layout) and layout.holds_sessions()) or index.is_outdated(layout):
        reindex.reindex(layout, lambda _: None)
    with _staging(layout) as folder:
        made = unpack.unpack(path, folder, limits)
        verify.verify(folder, made, limits)
        said.require_sound(folder, {session.session_id for session in made.sessions})
        if dry_run:
            return [Placed(session.session_id, "verified") for session in made.sessions]
        with index.lock(layout, lambda: None):
            return _put(layout, folder, made.sessions)


def _put(layout: Layout, folder: Path, sessions: Sequence[Bundled]) -> list[Placed]:
    known = _known(layout)
    names = roster.load(layout)
    agents = {one.session_id: known.get(one.session_id) or _bucket(one, names) for one in sessions}
    placed = [place.place(layout, folder, one, agents[one.session_id]) for one in sessions]
    said.take_over(layout, folder, agents)
    missing = [Placed(p.session_id, p.what, p.rebuild or ("",)) for p in placed if p.session_id not in known]
    failed = place.derive(layout, [p for p in placed if p.session_id in known] + missing, agents)
    said.apply(layout, set(agents))
    if failed:
        raise StoreError(f"{failed[0].session_id}: {failed[0].note[:500]}", "its evidence is kept; `muniment reindex`")
    return placed


def _known(layout: Layout) -> dict[str, str]:
    if not index.exists(layout):
        return {}
    with Index(layout) as known:
        return known.agents()


def _bucket(session: Bundled, names: roster.Roster) -> str:
    """Where a new session goes: to the role it has here, else to the bucket that it had there."""
    entry = names.of(session.session_id)
    return bucket(entry.role) if entry and entry.role else safe_name(session.agent_id)


@contextmanager
def _staging(layout: Layout) -> Generator[Path]:
    """A folder on the disk of the store, outside of what anybody reads."""
    files.make_folder(layout.sessions)
    folder = Path(tempfile.mkdtemp(dir=layout.sessions.parent, prefix=".unbundling-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
