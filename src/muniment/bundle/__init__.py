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

import errno
import shutil
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from muniment import files, reindex
from muniment.bundle import pack, place, redacted, said, unpack, verify
from muniment.bundle.contents import Bundled, Limits
from muniment.bundle.place import Placed
from muniment.errors import StoreError
from muniment.moving import bucket
from muniment.store import index, leftovers, roster
from muniment.store.index import Index
from muniment.store.layout import Layout, safe_name
from muniment.store.session_table import Listed

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
    """Pack sessions into one file; what it holds does not depend on the order in which they are given."""
    target = target.absolute()
    sessions = sorted(sessions, key=lambda session: session.session_id)
    ids = tuple(session.session_id for session in sessions)
    pack.require_free(target, force)
    with _locked_if_writable(layout):
        if not redact:
            return Packed(str(target), pack.pack(layout, sessions, target), ids)
        with _beside(target) as folder:
            made, hidden = redacted.copy(layout, sessions, folder)
            size = pack.pack(made, sessions, target, redacted=True)
    return Packed(str(target), size, ids, True, hidden.secrets, hidden.left_out)


@contextmanager
def _locked_if_writable(layout: Layout) -> Generator[None]:
    """Hold the lock of the store. Where it cannot be written to, there is nothing to lock, and nobody else writes; on a
    store of somebody else who does, packing itself notices what changes meanwhile."""
    with ExitStack() as stack:
        try:
            stack.enter_context(index.lock(layout, lambda: None))
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise
        yield


@contextmanager
def _beside(target: Path) -> Generator[Path]:
    """A folder on the disk of the bundle, always of the same name: what a killed run left is replaced."""
    folder = files.temporary_beside(target.with_name(f"{target.name}.store"))
    shutil.rmtree(folder, ignore_errors=True)
    files.make_folder(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
    agents = _buckets(layout, sessions)
    placed = [place.place(layout, folder, one, agents[one.session_id]) for one in sessions]
    said.take_over(layout, folder, agents)
    failed = place.derive(layout, placed, agents)
    said.apply(layout, set(agents))
    if failed:
        raise StoreError(f"{failed[0].session_id}: {failed[0].note[:500]}", "its evidence is kept; `muniment reindex`")
    return placed


def _buckets(layout: Layout, sessions: Sequence[Bundled]) -> dict[str, str]:
    """Where each session lies; a new one goes to the role that it has here, else to the bucket that it had there."""
    names = roster.load(layout)
    lies = {**_left(layout, sessions), **_known(layout)}
    return {one.session_id: lies.get(one.session_id) or _bucket(one, names) for one in sessions}


def _known(layout: Layout) -> dict[str, str]:
    if not index.exists(layout):
        return {}
    with Index(layout) as known:
        return known.agents()


def _left(layout: Layout, sessions: Sequence[Bundled]) -> dict[str, str]:
    """Where a run that was killed began to put sessions: it may have brought a role meanwhile, and they stay."""
    found = (path for one in sessions for path in layout.sessions.glob(f"*/{one.session_id}*"))
    return {path.name.removesuffix(".md"): path.parent.name for path in found}


def _bucket(session: Bundled, names: roster.Roster) -> str:
    entry = names.of(session.session_id)
    return bucket(entry.role) if entry and entry.role else safe_name(session.agent_id)


@contextmanager
def _staging(layout: Layout) -> Generator[Path]:
    """A folder on the disk of the store, outside of what anybody reads."""
    with ExitStack() as stack:
        with index.lock(layout, lambda: None):
            folder = stack.enter_context(leftovers.staging_folder(layout))
        yield folder
