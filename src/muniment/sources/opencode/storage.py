"""Sessions of older versions: one file for the session, one for every message, one for every part of a message.

They are put together to one document, in the form of an export, which is what is read; it is kept beside the files
themselves, and only those are given back. A newline becomes a space, so the size is known without reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from muniment import files
from muniment.sources.base import SourceFile, source_file
from muniment.sources.opencode.records import identity

STORAGE = "storage"
SESSIONS = f"{STORAGE}/session"
TOGETHER = f"{STORAGE}/together"
"""Where the document would lie: nothing is ever written there."""

_SESSION = re.compile(rb'\s*\{(?=[^{]{0,2000}"id"\s*:\s*"ses)(?=[^{]{0,2000}"(?:projectID|directory|version)"\s*:)')
_BESIDE = ("session_diff", "todo", "session_share")


def matches(path: Path, head: bytes) -> bool:
    """A session's own file, in its place."""
    return home_of(path) is not None and bool(_SESSION.match(head))


def home_of(path: Path) -> Path | None:
    """The home that a session of an older version lies in, told by the folders above it."""
    above = path.parents
    if path.suffix == ".json" and len(above) > 3 and above[1].name == "session" and above[2].name == STORAGE:
        return above[3]
    return None


def is_together(name: str) -> bool:
    """Whether a file was put together by us."""
    return name.startswith(f"{TOGETHER}/")


def files_of(path: Path, home: Path) -> Iterator[SourceFile]:
    """The document, then every file that it is made of or that lies beside it."""
    own = source_file(path, home, "side")
    if own is None:
        return
    present = [own, *_messages(path.stem, home)]
    name = f"{TOGETHER}/{path.parent.name}/{path.stem}.json"
    size = sum(len(piece) if isinstance(piece, bytes) else piece.size for piece in _pieces(present))
    newest = max(file.mtime_ns for file in present)
    yield SourceFile(f"{home / name}#{identity(path.stem)}", name, "main", size, newest)
    yield from present
    beside = (home / STORAGE / folder / f"{path.stem}.json" for folder in _BESIDE)
    yield from (file for other in beside if (file := source_file(other, home, "side")))


def _messages(session: str, home: Path) -> Iterator[SourceFile]:
    """Every message, each followed by its parts; ids are made so that they sort by time."""
    for message in _json_in(home / STORAGE / "message" / session, home):
        yield message
        yield from _json_in(home / STORAGE / "part" / Path(message.path).stem, home)


def _json_in(folder: Path, home: Path) -> Iterator[SourceFile]:
    paths = sorted(folder.glob("*.json")) if folder.is_dir() else []
    return (file for path in paths if (file := source_file(path, home, "side")))


def together(file: SourceFile) -> Iterator[bytes]:
    """The bytes of the document."""
    home, name = Path(file.path.removesuffix(f"/{file.name}{_mark(file)}")), Path(file.name)
    own = source_file(home / SESSIONS / name.parent.name / name.name, home, "side")
    for piece in _pieces([own, *_messages(name.stem, home)] if own else []):
        yield piece if isinstance(piece, bytes) else _flat(piece)


def _mark(file: SourceFile) -> str:
    return f"#{identity(Path(file.name).stem)}"


def _flat(file: SourceFile) -> bytes:
    return b"".join(files.chunks(Path(file.path), 0, file.size)).replace(b"\n", b" ")


def _pieces(present: Iterable[SourceFile]) -> Iterator[bytes | SourceFile]:
    """What stands between the files, and the files."""
    rest = iter(present)
    yield from (b'{"info":', next(rest), b',"messages":[\n')
    before = b""
    inside = False
    for file in rest:
        if _is_message(file):
            yield b"]}\n,{" if inside else b"{"
            yield from (b'"info":', file, b',"parts":[')
            inside, before = True, b""
        else:
            yield from (before, file)
            before = b","
    yield b"]}\n]}\n" if inside else b"]}\n"


def _is_message(file: SourceFile) -> bool:
    return file.name.startswith(f"{STORAGE}/message/")
