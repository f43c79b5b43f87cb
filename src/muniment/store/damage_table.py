"""What the index knows of damage: copies of the manifests, by which it shows, and the damage that was found.

A manifest that is lost or damaged comes back from its copy. Damage that was found is marked until a rebuild of that
session finds it gone; `tried` says that a rebuild could not mend it, so that no run tries the same again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from msgspec import Struct

from muniment.model import Problem, codec
from muniment.store.layout import Layout
from muniment.store.rows import fit

Of = tuple[str, str]
"""A session and its version, "" for the current one."""


class Damage(Struct, frozen=True, omit_defaults=True):
    """One damaged place of the archive."""

    session_id: str
    """Empty for a file that belongs to no session."""
    path: str
    offset: int
    """In the file as its agent wrote it, where the damage is in the evidence of one."""
    what: str
    version: str = ""
    tried: bool = False
    """A run could not mend it: the source is gone, or says something else."""

    @property
    def derived(self) -> bool:
        """Whether the file can be made anew from others: documents, listings, indexes, rounds and media."""
        path = PurePath(self.path)
        return path.suffix in (".md", ".db") or path.parent.name in ("rounds", "media")

    def __str__(self) -> str:
        return str(Problem(self.path, self.offset, self.what))


class Copied(Struct, frozen=True):
    """A manifest as the index keeps it."""

    sizes: str
    """How large the files must at least be that it lists, as JSON."""
    data: bytes


def put_manifest(db: Any, session_id: str, version: str, copy: Copied) -> None:
    """Keep a copy of a manifest."""
    db.execute("INSERT OR REPLACE INTO manifests VALUES (?,?,?,?)", (session_id, version, copy.sizes, copy.data))


def move(db: Any, session_id: str, version: str) -> None:
    """The current version of a session is now an older one, and lies elsewhere."""
    own = (version, session_id)
    db.execute("UPDATE OR REPLACE manifests SET version = ? WHERE session_id = ? AND version = ''", own)
    db.execute("UPDATE OR REPLACE damage SET version = ?, tried = 0 WHERE session_id = ? AND version = ''", own)


def manifests(db: Any, session_id: str) -> dict[str, bytes]:
    """The copies of a session's manifests, by version."""
    return dict(db.execute("SELECT version, data FROM manifests WHERE session_id = ?", (session_id,)))


def mark(db: Any, session_id: str, version: str, problems: Iterable[Problem], tried: bool) -> None:
    """All that is damaged of a version, in place of what was known."""
    db.execute("DELETE FROM damage WHERE session_id = ? AND version = ?", (session_id, version))
    rows = [(session_id, version, fit(p.path), p.offset, fit(p.what), tried) for p in problems]
    db.executemany("INSERT OR REPLACE INTO damage VALUES (?,?,?,?,?,?)", rows)


def marked(db: Any) -> list[Damage]:
    """All damage that was found and not mended since."""
    sql = "SELECT session_id, path, offset, what, version, tried FROM damage ORDER BY session_id, version, path, offset"
    rows: Iterable[tuple[str, str, int, str, str, int]] = db.execute(sql)
    return [Damage(id_, path, at, what, version, bool(tried)) for id_, path, at, what, version, tried in rows]


def missing_evidence(layout: Layout, db: Any) -> list[Damage]:
    """Evidence that is gone or shorter than it was, told by its size alone: quick enough for every run."""
    sql = "SELECT m.session_id, s.agent_id, m.version, m.sizes FROM manifests m JOIN sessions s USING (session_id)"
    found: list[Damage] = []
    for session_id, agent_id, version, sizes in db.execute(sql):
        shelf = layout.shelf(agent_id, session_id)
        folder = str((shelf.version(version) if version else shelf).evidence)
        for name, size in codec.loads(sizes.encode()).items():
            path = f"{folder}/{name}"
            if not _has(path, size):
                found.append(Damage(session_id, path, 0, "missing, or shorter than it was", version))
    return found


def _has(path: str, size: int) -> bool:
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    return status.st_size >= size and stat.S_ISREG(status.st_mode)
