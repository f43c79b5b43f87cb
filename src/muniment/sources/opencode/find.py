"""Where opencode keeps a session, and what is kept of it.

<home>/opencode.db                                  all sessions of this machine; `opencode-<channel>.db` for others
<home>/storage/session/<project>/<session>.json     a session of older versions, with its messages in
<home>/storage/message/<session>/<message>.json     one file each, and the parts of those in
<home>/storage/part/<message>/<part>.json           one file each
<home>/storage/session/info/<session>.json          a session of the earliest versions, with
<home>/storage/session/message/<session>/…          its messages and
<home>/storage/session/part/<session>/<message>/…   their parts; before that all of it lay in
<home>/project/<project>/storage/…                  a storage of its project, and the parts in the messages (`early`)
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
from muniment.sources.base import HEAD_BYTES, Found, SourceFile, head_of, is_redacted, source_file
from muniment.sources.homes import Home
from muniment.sources.opencode import database, storage
from muniment.sources.opencode.records import NAME, identity
from muniment.sources.places import Places
from muniment.sources.raw_json import unmarked

EXPORTED = "exported"
"""Where below the home we put exports; opencode itself does not look there."""

PLACES = Places(
    main=(f"{EXPORTED}/{{id}}.json",),
    side=(f"{EXPORTED}/{{id}}{database.ROWS}", *storage.PLACES),
)

HOME = Home(
    "opencode",
    shown_by=("opencode.db", "storage/session", "storage/message", "tool-output"),
    places=Places(
        main=(
            "opencode*.db*",
            f"{EXPORTED}/*.json*",
            *(f"{top}{storage.STORAGE}/{storage.SESSION}/*/*.json" for top in ("", f"{storage.PROJECT}/*/")),
            f"**/{storage.STORAGE}/{storage.TOGETHER}/**",
        )
    ),
    named=r"(ses|opencode).*\.(json|db)",
    filled=(storage.STORAGE, "tool-output", "log", "snapshot"),
    outputs=(("tool-output", "opencode.db"), ("tool-output", storage.STORAGE)),
)

_EXPORT = re.compile(rb'\s*\{\s*"info"\s*:\s*\{')
_STRING = rb'"([^"\\]*(?:\\.[^"\\]*)*)"'
_TOKEN = re.compile(_STRING + rb"(?:\s*:\s*" + _STRING + rb')?|["{}\[\]]', re.DOTALL)
"""A string, with its value if it is a field that has a string; else a bracket, or the string that the head cuts off."""
_FIELDS = frozenset({b"id", b"slug", b"role", b"sessionID"})
_NAMED = re.compile(rb'ses[^"\\]{1,128}|[^"\\]{0,64}REDACTED[^"\\]{0,64}')
"""How ids begin, or what a tool left in the place of one that it took for a secret."""
_CREATED = re.compile(rb'"created"\s*:\s*\d+')
_ID = re.compile(rb'"(?:id|sessionID)"\s*:\s*"(' + _NAMED.pattern + rb')"')
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
    yield from storage.sessions_in(home)
    for entry in files.walk(home / EXPORTED):
        if entry.name.endswith(".json"):
            yield Path(entry.path)


def is_side_file(path: Path) -> bool:
    """Return whether the place of a file says that it is no transcript, whatever is in it."""
    return HOME.has_side_file(path)


def matches(path: Path, head: bytes) -> bool:
    """An export, a session of older versions, or a database with opencode's tables."""
    if head.startswith(database.MAGIC):
        return database.is_ours(path)
    return storage.matches(path, head) or _is_export(head)


def _is_export(head: bytes) -> bool:
    """What is told of a session or message comes first, and diffs in it may fill all of the head."""
    fields, ends = _info(head)
    listed = _LIST.search(head) or (not ends and len(head) >= HEAD_BYTES)
    return bool(_FIELDS & fields.keys() and _ID.search(head) and listed)


def _info(head: bytes) -> tuple[dict[bytes, bytes], bool]:
    """The fields of `info` that are strings, whatever stands between them, and whether it ends in the head."""
    fields: dict[bytes, bytes] = {}
    head = unmarked(head)
    begin = _EXPORT.match(head)
    depth = 1
    for token in _TOKEN.finditer(head, begin.end()) if begin else ():
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and token[2] is not None:
            fields.setdefault(token[1], token[2])
        if depth == 0 or token[0] == b'"':
            return fields, depth == 0
    return fields, False


def gather(paths: Iterable[Path], root: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    """The sessions in these files; a database holds many."""
    databases: set[Path] = set()
    for path in (path for path in paths if not is_side_file(path)):
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
    fields, _ = _info(head)
    told = [fields.get(name, b"") for name in (b"id", b"sessionID")] + _ID.findall(head)
    own = next((id_ for id_ in told if _NAMED.fullmatch(id_)), None)
    if own and not is_redacted(own.decode("utf-8", "replace")):
        return own.decode("utf-8", "replace")
    created = _CREATED.search(head)  # an export that is made again has other sums before its messages
    return hashlib.sha256(created[0] if own and created else head).hexdigest()
