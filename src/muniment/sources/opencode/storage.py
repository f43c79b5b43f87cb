"""Sessions of older versions: one file for the session, one for every message, one for every part of a message.

They are put together to one document, in the form of an export, which is what is read; it is kept beside the files
themselves, and only those are given back. A newline becomes a space, so the size is known without reading.

The earliest versions had all of it below `session`, and first in a storage of every project: see `find`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from muniment import files
from muniment.model import codec
from muniment.sources.base import SourceFile, source_file
from muniment.sources.opencode.records import HELD, identity

STORAGE = "storage"
SESSION = "session"
TOGETHER = "together"
"""In place of `session`, where the document would lie: nothing is ever written there."""
PROJECT = "project"
EARLIEST = "info"
"""The folder of sessions in the earliest layout; later ones have one for every project."""

_TOGETHER = re.compile(rf"(?:.*/)?{STORAGE}/{TOGETHER}/[^/]*/[^/]*", re.DOTALL)
_SESSION = re.compile(rb'\s*\{(?=[^{]{0,2000}"id"\s*:\s*"ses)(?=[^{]{0,2000}"(?:projectID|directory|version)"\s*:)')
_NO_STRING = re.compile(rb"[^ !#-\[\]-~]")
"""What cannot stand in a string of JSON as it is, and bytes that may be half a character."""
_EMPTY = b"0"
"""In place of a file that is empty."""
_BESIDE = ("session_diff", "todo", "session_share", "session/share")
_NO_SESSIONS = frozenset({"message", "part", "share"})
"""What else the earliest layout has beside its sessions."""

PLACES = tuple(
    f"{top}{STORAGE}/{below}"
    for top in ("", f"{PROJECT}/*/")
    for below in (
        f"{SESSION}/*/{{id}}.json",
        "message/{id}/*.json",
        "part/*/*.json",
        f"{SESSION}/message/{{id}}/*.json",
        f"{SESSION}/part/{{id}}/*/*.json",
        *(f"{folder}/{{id}}.json" for folder in _BESIDE),
    )
)
"""Which files a session of these versions has, as patterns of `sources.places`."""

Said = list[tuple[SourceFile, list[SourceFile]]]
"""Every message with its parts."""


def matches(path: Path, head: bytes) -> bool:
    """A session's own file, in its place."""
    return home_of(path) is not None and bool(_SESSION.match(head))


def home_of(path: Path) -> Path | None:
    """The home that a session of an older version lies in, told by the folders above it."""
    above = path.parents
    if path.suffix != ".json" or len(above) <= 3 or above[1].name != SESSION or above[2].name != STORAGE:
        return None
    if above[0].name in _NO_SESSIONS:
        return None
    of_project = above[0].name == EARLIEST and len(above) > 5 and above[4].name == PROJECT
    return above[5] if of_project else above[3]


def sessions_in(home: Path) -> Iterator[Path]:
    """The sessions' own files below a home; messages and parts are not walked through."""
    for top in (home, *_folders(home / PROJECT)):
        for folder in _folders(top / STORAGE / SESSION):
            paths = (Path(entry.path) for entry in files.walk(folder)) if folder.name not in _NO_SESSIONS else ()
            yield from (path for path in paths if home_of(path))


def _folders(path: Path) -> list[Path]:
    try:
        with os.scandir(path) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def is_together(name: str) -> bool:
    """Whether a file was put together by us."""
    return bool(_TOGETHER.fullmatch(name))


def files_of(path: Path, home: Path) -> Iterator[SourceFile]:
    """The document, then every file that it is made of or that lies beside it."""
    own = source_file(path, home, "side")
    if own is None:
        return
    said = _said(path, home)
    present = [own, *(file for message, parts in said for file in (message, *parts))]
    made = _below(TOGETHER, path)
    size = sum(len(piece) if isinstance(piece, bytes) else piece.size for piece in _pieces(own, said))
    newest = max(file.mtime_ns for file in present)
    yield SourceFile(f"{made}#{identity(path.stem)}", made.relative_to(home).as_posix(), "main", size, newest)
    yield from present
    beside = (path.parents[2] / folder / path.name for folder in _BESIDE)
    yield from (file for other in beside if (file := source_file(other, home, "side")))


def _below(folder: str, path: Path) -> Path:
    """The place of a session in another folder of its storage."""
    return path.parents[2] / folder / path.parent.name / path.name


def _said(path: Path, home: Path) -> Said:
    """Every message with its parts; ids are made so that they sort by time."""
    storage = path.parents[2]
    messages, parts = storage / "message", storage / "part"
    if path.parent.name == EARLIEST:
        messages, parts = storage / SESSION / "message", storage / SESSION / "part" / path.stem
    found = _json_in(messages / path.stem, home)
    return [(message, _json_in(parts / Path(message.path).stem, home)) for message in found]


def _json_in(folder: Path, home: Path) -> list[SourceFile]:
    paths = sorted(folder.glob("*.json")) if folder.is_dir() else []
    return [file for path in paths if (file := source_file(path, home, "side"))]


def together(file: SourceFile) -> Iterator[bytes]:
    """The bytes of the document."""
    path = _below(SESSION, Path(file.path.rpartition("#")[0]))
    home = home_of(path)
    own = source_file(path, home, "side") if home else None
    for piece in _pieces(own, _said(path, home)) if own and home else ():
        yield piece if isinstance(piece, bytes) else _flat(piece)


def _flat(file: SourceFile) -> bytes:
    raw = b"".join(files.chunks(Path(file.path), 0, file.size)).replace(b"\n", b" ")
    return raw if codec.is_json(raw) else _stand_in(raw)


def _stand_in(raw: bytes) -> bytes:
    """Return JSON of the same size in place of a file that is none, with as much of it as there is room for.

    Half a file would end in the one behind it, and hide all that follow. The file itself is kept beside."""
    before, behind = f'{{"{HELD}":"'.encode(), b'"}'
    room = len(raw) - len(before) - len(behind)
    if room < 0:
        return b"0".ljust(len(raw))
    return before + _NO_STRING.sub(b"?", raw)[:room] + behind


def _pieces(own: SourceFile, said: Said) -> Iterator[bytes | SourceFile]:
    """What stands between the files, and the files."""
    yield from (b'{"info":', own if own.size else _EMPTY, b',"messages":[\n')
    for number, (message, parts) in enumerate(said):
        yield from (b',{"info":' if number else b'{"info":', message if message.size else _EMPTY, b',"parts":[')
        yield from _listed(parts)
        yield b"]}\n"
    yield b"]}\n"


def _listed(parts: Iterable[SourceFile]) -> Iterator[bytes | SourceFile]:
    for number, part in enumerate(parts):
        held = part if part.size else _EMPTY
        yield from (b",", held) if number else (held,)
