"""Where Cursor keeps a session, and which files make it up.

<home>/projects/<folder>/agent-transcripts/<id>/<id>.jsonl                a transcript
<home>/projects/<folder>/agent-transcripts/<id>/subagents/<sub>.jsonl     of a subagent, or one folder below
<home>/projects/<folder>/agent-transcripts/<id>.jsonl  <id>.txt           older ones
<home>/chats/<hash of folder>/<id>/store.db  meta.json                    a chat of the CLI
anywhere: <title>.md                                                      a chat that was exported

Where a session has both, the chat is the one that is read: it says more.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from io import BytesIO
from itertools import islice
from os.path import splitext
from pathlib import Path

from msgspec import structs

from muniment import files
from muniment.model import codec
from muniment.sources.base import Found, SourceFile, found_session, head_of, source_file
from muniment.sources.cursor import database, exported
from muniment.sources.homes import Home
from muniment.sources.places import Places

NAME = "cursor"
TRANSCRIPTS, CHATS, STORE, META = "agent-transcripts", "chats", "store.db", "meta.json"
_BELOW, _SUFFIXES = f"{os.sep}{TRANSCRIPTS}{os.sep}", (".jsonl", ".txt")
_AGENT = f"projects/*/{TRANSCRIPTS}/{{id}}"
PLACES = Places(
    main=(*(f"{_AGENT}{below}{end}" for below in ("", "/**/*") for end in _SUFFIXES), f"{CHATS}/*/{{id}}/{STORE}"),
    sidechain=tuple(f"{_AGENT}/**/*{end}" for end in _SUFFIXES),
    side=(f"{CHATS}/*/{{id}}/{META}",),
)
HOME = Home(
    ".cursor",
    shown_by=("projects", CHATS),
    places=PLACES,
    named=rf".*\{exported.SUFFIX}|{re.escape(STORE)}",
    filled=("projects",),
    outputs=(("agent-tools", TRANSCRIPTS),),
)
_LOOKED_AT = 20
_CUT = re.compile(rb'\s*\{\s*"role"\s*:\s*"(?:user|assistant)"\s*,\s*"message"\s*:\s*\{\s*"content"\s*:')
_PLAIN = re.compile(rb"(?:user|assistant):\r?\n")
_ASKED_PLAIN = re.compile(rb"user:\r?\n<user_query>")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_FIELDS = frozenset({"role", "message", "timestamp"})
_ASKED = b"<user_query>"


def homes(env: Mapping[str, str]) -> list[Path]:
    """`~/.cursor`."""
    return [Path(env.get("HOME") or Path.home()) / ".cursor"]


def candidates(home: Path) -> Iterator[Path]:
    """Transcripts and chats below a home."""
    for folder in ("projects", CHATS):
        for entry in files.walk(home / folder):
            if entry.name == STORE or (entry.name.endswith(_SUFFIXES) and _BELOW in entry.path):
                yield Path(entry.path)


def is_side_file(path: Path) -> bool:
    """Return whether the place of a file says that it is no transcript, whatever is in it."""
    return HOME.has_side_file(path)


def matches(path: Path, head: bytes) -> bool:
    """A database with Cursor's tables, an exported chat, or lines in which a role has a message.

    Damaged and unknown lines may stand among them: most are Cursor's, or one that nobody else would write."""
    if head.startswith(database.MAGIC):
        return database.is_chat(head)
    if path.suffix == exported.SUFFIX:
        return exported.is_export(head)
    if path.suffix == ".txt":
        return bool((_PLAIN if TRANSCRIPTS in path.parts else _ASKED_PLAIN).match(head))
    fit: list[bool] = []
    told = False
    for line in islice(BytesIO(head), _LOOKED_AT):
        if line.strip():
            fit.append(own := _is_line(line))
            told |= own and b'"role"' in line
            if told and (TRANSCRIPTS in path.parts or (own and _ASKED in line)):
                return True
    return told and fit[:-1].count(False) < fit.count(True)  # the last may be cut


def _is_line(line: bytes) -> bool:
    try:
        value = codec.mapping(codec.loads(line))
    except ValueError:
        return bool(_CUT.match(line))
    if value.get("type") == "turn_ended":
        return True
    said = codec.mapping(value.get("message"))
    return value.keys() <= _FIELDS and value.get("role") in ("user", "assistant") and "content" in said


def gather(paths: Iterable[Path], root: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    """Every session that one of these files belongs to, with all its files."""
    indexes: dict[Path, dict[str, list[Path]]] = {}
    met: set[tuple[Path, str]] = set()
    for path in (path for path in paths if not is_side_file(path)):
        if path.suffix == exported.SUFFIX:
            yield from _export(path, root)
            continue
        home, native_id = _home_of(path), _native_id(path)
        top = home or root
        if (top, native_id) in met:
            continue
        met.add((top, native_id))
        if home and home not in indexes:
            indexes[home] = _index(home)
        own = indexes[home].get(native_id, [path]) if home else [path]
        if present := tuple(_files(own, top)):
            yield found_session(NAME, native_id, top, home in known_homes, present)


def _export(path: Path, root: Path) -> Iterator[Found]:
    """A chat that lies where somebody put it; several exports of it are several versions."""
    if main := source_file(path, root, "main"):
        yield found_session(NAME, exported.native_id(path, head_of(path)), root, False, (main,))


def _index(home: Path) -> dict[str, list[Path]]:
    """The files of every session of a home."""
    found: dict[str, list[Path]] = {}
    for path in candidates(home):
        found.setdefault(_native_id(path), []).append(path)
    return found


def _files(own: list[Path], top: Path) -> Iterator[SourceFile]:
    ordered = sorted(own, key=lambda path: (path.name != STORE, path.suffix != ".jsonl", str(path)))
    main = next((path for path in ordered if not _is_subagent(path)), None)
    for path in ordered:
        role = "sidechain" if _is_subagent(path) else "main" if path is main else "side"
        if file := source_file(path, top, role, path.stem if role == "sidechain" else None):
            yield _settled(file) if path.name == STORE and role == "main" else file
        if path.name == STORE and (about := source_file(path.with_name(META), top, "side")):
            yield about


def _settled(file: SourceFile) -> SourceFile:
    """A database with what its log holds; without a log it is read as it lies there."""
    image = database.image(Path(file.path))
    return file if image is None else structs.replace(file, text=image, size=len(image))


def _is_subagent(path: Path) -> bool:
    parts = path.parts
    return TRANSCRIPTS in parts and "subagents" in parts[parts.index(TRANSCRIPTS) : -1]


def _home_of(path: Path) -> Path | None:
    """The home that a file lies in, told by the folders above it."""
    *above, name = path.parts
    if name == STORE and above[-3:-2] == [CHATS]:
        return Path(*above[:-3])
    if TRANSCRIPTS not in above:
        return None
    return _home_above(*above[: len(above) - 1 - above[::-1].index(TRANSCRIPTS)])


@lru_cache(maxsize=64)
def _home_above(*parts: str) -> Path | None:
    """The home of a project's folder."""
    return Path(*parts[:-2]) if parts[-2:-1] == ("projects",) else None


def _native_id(path: Path) -> str:
    """The id in the path; a file that lies elsewhere goes by its own name, a database by its first page.

    Names of exported texts are alike: where they are no ids, the first prompt counts too."""
    *above, name = path.parts
    if TRANSCRIPTS in above:
        return splitext((*above, name)[above.index(TRANSCRIPTS) + 1])[0]
    if name == STORE and above[-3:-2] == [CHATS]:
        return above[-1]
    if path.suffix == ".txt" and not _UUID.fullmatch(path.stem):
        return hashlib.sha256(os.fsencode(path.stem) + head_of(path).partition(b"</user_query>")[0]).hexdigest()
    if path.suffix not in _SUFFIXES:
        return database.native_id(path) or hashlib.sha256(head_of(path)).hexdigest()
    return path.stem
