"""Tasks that derive a session anew from what the archive has of it: its evidence, or what is left beside that."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from muniment.errors import Damaged, MunimentError
from muniment.inscribe.messages import Task
from muniment.sources.base import Found, SourceFile
from muniment.store import evidence, page
from muniment.store.evidence import Manifest
from muniment.store.index import Index
from muniment.store.layout import Shelf


class Former(Struct, frozen=True):
    """What an index knows of a session, for where the evidence does not tell any more."""

    source: str = ""
    path: str = ""
    progress: dict[str, dict[str, bytes]] = {}
    manifests: dict[str, bytes] = {}


def look_up(known: Index, session_id: str) -> Former:
    """What an index knows of a session."""
    rows = known.rows("SELECT source, path FROM sessions WHERE session_id = ?", session_id)
    source, path = rows[0] if rows else ("", "")
    return Former(source, path, progress_of(known, session_id), known.manifests(session_id))


def progress_of(known: Index, session_id: str) -> dict[str, dict[str, bytes]]:
    """How far each version of a session is read."""
    rows = known.rows("SELECT DISTINCT version FROM progress WHERE session_id = ?", session_id)
    return {version: known.progress(session_id, version) for (version,) in rows}


def tasks_of(
    shelf: Shelf, agent_id: str, version: str, former: Former | None = None, sources: Sequence[SourceFile] = ()
) -> Iterator[Task]:
    """One version of a session to be derived anew; "" is the current one, and one of which nothing was kept is none."""
    former = former or Former()
    own = shelf.version(version) if version else shelf
    found = _find(own, shelf.name, version, former)
    if found:
        yield Task(
            found, agent_id, "", former.progress, rebuild=version, manifests=former.manifests, sources=tuple(sources)
        )


def _find(own: Shelf, session_id: str, version: str, former: Former) -> Found | None:
    copy = former.manifests.get(version)
    try:
        manifest, is_damaged = evidence.load(own.evidence), copy is not None
    except Damaged:
        manifest, is_damaged = None, True
    if manifest is None and copy:
        with contextlib.suppress(msgspec.MsgspecError, ValueError):
            manifest = evidence.decode(copy)
    if manifest and manifest.files:
        return _from_manifest(manifest)
    return _without_manifest(own, session_id, former) if is_damaged else None


def _from_manifest(manifest: Manifest) -> Found:
    kept = tuple(SourceFile(k.path, k.name, k.role, k.size, k.mtime_ns, id=k.id) for k in manifest.files)
    return Found(manifest.source, manifest.session_id, manifest.root, manifest.home, kept, manifest.native_id)


def _without_manifest(own: Shelf, session_id: str, former: Former) -> Found | None:
    """A session whose manifest is lost: its document tells of which agent it is, and where it was found."""
    top = None
    with contextlib.suppress(MunimentError, OSError):
        top = page.load_head(own.document)
    source = former.source or str(top.own.get("format", "") if top else "")
    path = former.path or str(top.fields.get("source", "") if top else "") or str(own.evidence)
    names = list(former.progress.get("", {})) or [f"{session_id}.jsonl"]
    return Found(source, session_id, "", False, (SourceFile(path, names[0], "main", 0, 0),)) if source else None
