"""Where opencode keeps a session, and what is kept of it.

<home>/opencode.db                                  all sessions of this machine; `opencode-<channel>.db` for others
<home>/storage/session/<project>/<session>.json     a session of older versions, with its messages in
<home>/storage/message/<session>/<message>.json     one file each, and the parts of those in
<home>/storage/part/<message>/<part>.json           one file each
<anywhere>.json                                     what `opencode export` gives, and `opencode import` takes

An export is a session as it lies there. From a database a session is taken as the export that opencode would give of it
(`database`); the many files of older versions are put together to the same form and kept themselves (`storage`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment import files
from muniment.sources.base import Found, SourceFile, head_of, source_file
from muniment.sources.opencode import database, storage
from muniment.sources.opencode.records import NAME, identity

EXPORTED = "exported"
"""Where below the home we put exports; opencode itself does not look there."""

_EXPORT = re.compile(rb'\s*\{\s*"info"\s*:\s*\{[^{}]{0,2000}"(?:id|slug|role|sessionID)"\s*:')
_ID = re.compile(rb'"(?:id|sessionID)"\s*:\s*"(ses[^"\\]{1,128})"')
_LIST = re.compile(rb'"(?:messages|parts)"\s*:\s*\[')


def homes(env: Mapping[str, str]) -> list[Path]:
    """`opencode` in the folder for data of programs."""
    data = env.get("XDG_DATA_HOME")
    base = Path(data).expanduser() if data else Path(env.get("HOME") or Path.home()) / ".local" / "share"
    return [base / "opencode"]


def candidates(home: Path) -> Iterator[Path]:
    """Databases, sessions of older versions and exports below a home.

    The log of a database is named too: while opencode runs, what is new stands there."""
    yield from (path for path in sorted(home.glob("opencode*.db*")) if database.of(path) and path.is_file())
    for entry in files.walk(home / storage.SESSIONS):
        if entry.name.endswith(".json"):
            yield Path(entry.path)
    for entry in files.walk(home / EXPORTED):
        if entry.name.endswith(".json"):
            yield Path(entry.path)


def matches(path: Path, head: bytes) -> bool:
    """An export, a session of older versions, or a database with opencode's tables."""
    if head.startswith(database.MAGIC):
        return database.is_ours(path)
    return storage.matches(path, head) or _is_export(head)


def _is_export(head: bytes) -> bool:
    return bool(_EXPORT.match(head) and _ID.search(head) and _LIST.search(head))


def gather(paths: Iterable[Path], root: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    """The sessions in these files; a database holds many."""
    databases: set[Path] = set()
    for path in paths:
        if (own := database.of(path)) and own.is_file():
            if own not in databases:
                databases.add(own)
                yield from _in_database(own, known_homes)
        elif top := storage.home_of(path):
            yield from _found(path.stem, top, top in known_homes, storage.files_of(path, top))
        elif main := source_file(path, root, "main"):
            home = _home_of(path)
            at = source_file(path, home, "main") if home in known_homes and home else None
            yield from _found(_native_id(path), home if at and home else root, bool(at), [at or main])


def _in_database(path: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    home = path.parent
    for native, present in database.sessions(path, EXPORTED):
        yield from _found(native, home, home in known_homes, present)


def _found(native: str, top: Path, home: bool, present: Iterable[SourceFile]) -> Iterator[Found]:
    if all_files := tuple(present):
        yield Found(NAME, identity(native), str(top), home, all_files, native)


def _home_of(path: Path) -> Path | None:
    """The home that an export of ours lies in."""
    return path.parent.parent if path.parent.name == EXPORTED else None


def _native_id(path: Path) -> str:
    """The session's own id, else one made of its content."""
    head = head_of(path)
    own = _ID.search(head)
    return own[1].decode("utf-8", "replace") if own else hashlib.sha256(head).hexdigest()
