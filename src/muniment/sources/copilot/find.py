"""Where Copilot keeps a session, and which files make it up.

<home>/session-state/<id>/events.jsonl                               the transcript
<home>/session-state/<id>/workspace.yaml plan.md checkpoints/ files/  what lies beside it
<home>/session-state/<id>.jsonl                                      the transcript, in older versions
<home>/history-session-state/session_<id>_<milliseconds>.json        a document, in the oldest

Subagents speak in the same file. What is left in a folder whose transcript is gone is kept under the session's id.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from muniment import files
from muniment.model import codec
from muniment.sources.base import Found, SourceFile, found_session, head_of, source_file
from muniment.sources.copilot import timeline
from muniment.sources.homes import Home
from muniment.sources.places import Places

NAME = "copilot"
FOLDER = "session-state"
OLD_FOLDER = "history-session-state"
DOCUMENT = ".json"
TRANSCRIPT = "events.jsonl"
PLACES = Places(
    main=(
        f"{FOLDER}/{{id}}/{TRANSCRIPT}",
        f"{FOLDER}/{{id}}.jsonl",
        f"{OLD_FOLDER}/session_{{id}}_*{DOCUMENT}",
        f"{OLD_FOLDER}/{{id}}{DOCUMENT}",
    ),
    side=(f"{FOLDER}/{{id}}/**",),
)

HOME = Home(
    ".copilot",
    shown_by=(FOLDER, OLD_FOLDER),
    places=PLACES,
    named=rf"{re.escape(TRANSCRIPT)}|session_.*\{DOCUMENT}",
    filled=(FOLDER,),
)
_ABOUT = "workspace.yaml"
_OF_EVERY_SESSION = frozenset({_ABOUT, "tracking.json"})
"""What the client puts into the folder of a session before anything is said in it."""

_LOOKED_AT = 20
_KINDS = re.compile(r"(session|user|assistant|tool|hook|permission|subagent|system|skill)\.[a-z_]+|abort")
_FIELDS = frozenset({"type", "data", "id", "timestamp", "parentId"})
_CUT = re.compile(rb'\s*\{\s*"type"\s*:\s*"([a-z._]+)"\s*,\s*"data"\s*:\s*\{\s*"(\w+)"\s*:')
_FIRST = {
    b"session.start": b"sessionId",
    b"system.message": b"role",
    b"user.message": b"content",
    b"assistant.message": b"messageId",
    b"tool.execution_start": b"toolCallId",
    b"tool.execution_complete": b"toolCallId",
    b"hook.start": b"hookInvocationId",
}
"""Events that may be longer than the head of a file, and the field that what they say begins with."""
_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,128})"')


def homes(env: Mapping[str, str]) -> list[Path]:
    """`$COPILOT_HOME` else `~/.copilot`."""
    if given := env.get("COPILOT_HOME"):
        return [Path(given).expanduser()]
    return [Path(env.get("HOME") or Path.home()) / ".copilot"]


def candidates(home: Path) -> Iterator[Path]:
    """Transcripts below a home, and what lies beside transcripts that are gone."""
    is_left = cache(_is_left)
    for entry in files.walk(home / FOLDER):
        path = Path(entry.path)
        folder = _session_folder(path)
        flat = path.suffix == ".jsonl" and path.parent.name == FOLDER
        if flat or (folder and (path == folder / TRANSCRIPT or is_left(folder))):
            yield path
    for entry in files.walk(home / OLD_FOLDER):
        if entry.name.endswith(DOCUMENT):
            yield Path(entry.path)


def is_side_file(path: Path) -> bool:
    """Return whether the place of a file says that it is no transcript, whatever is in it."""
    folder = _session_folder(path)
    if folder and path != folder / TRANSCRIPT and any((folder / name).is_file() for name in (TRANSCRIPT, _ABOUT)):
        return True
    return HOME.has_side_file(path)


def _session_folder(path: Path) -> Path | None:
    """Return the folder of the session that a file lies in."""
    return next((folder for folder in reversed(path.parents) if folder.parent.name == FOLDER), None)


def _is_left(folder: Path) -> bool:
    """Return whether the transcript of a session is gone, and what lies beside it tells of more than its beginning."""
    if (folder / TRANSCRIPT).is_file() or folder.with_name(f"{folder.name}.jsonl").is_file():
        return False
    return any(Path(file.path).name not in _OF_EVERY_SESSION for file in _beside(folder / TRANSCRIPT, folder))


def matches(path: Path, head: bytes) -> bool:
    """Copilot's own kinds of events in their envelope, or the document of its first weeks."""
    if path.name.endswith(DOCUMENT) and timeline.document_id(head) is not None:
        return True
    return any(_is_event(line) for line in head.split(b"\n")[:_LOOKED_AT])


def _is_event(line: bytes) -> bool:
    """A whole line by its fields; one cut off by the end of the head by its first ones."""
    if b'"data"' not in line:
        return False
    try:
        event = codec.mapping(codec.loads(line))
    except ValueError:
        cut = _CUT.match(line)
        return cut is not None and _FIRST.get(cut[1]) == cut[2]
    kind = event.get("type")
    return event.keys() >= _FIELDS and isinstance(kind, str) and bool(_KINDS.fullmatch(kind))


def gather(paths: Iterable[Path], root: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    """One `Found` per transcript, with everything in its folder; one per folder whose transcript is gone."""
    left: dict[Path, None] = {}
    for path in paths:
        if is_side_file(path):
            left |= dict.fromkeys(folder for folder in (_session_folder(path),) if folder)
            continue
        base = _home_of(path)
        top = base or root
        if main := source_file(path, top, "main"):
            beside = _beside(path, top) if base and path.name == TRANSCRIPT else ()
            yield found_session(NAME, _native_id(path, base is not None), top, base in known_homes, (main, *beside))
    for folder in filter(_is_left, left):
        home = folder.parent.parent
        yield found_session(NAME, folder.name, home, home in known_homes, _beside(folder / TRANSCRIPT, home))


def _home_of(path: Path) -> Path | None:
    """The home that a transcript lies in, told by the folders above it."""
    above = path.parent.parent if path.name == TRANSCRIPT else path.parent
    return above.parent if above.name in (FOLDER, OLD_FOLDER) else None


def _beside(path: Path, top: Path) -> Iterator[SourceFile]:
    """What the client keeps with a session: notes, checkpoints, files; locks say nothing of it."""
    for entry in files.walk(path.parent):
        other = Path(entry.path)
        if other != path and other.suffix != ".lock" and (side := source_file(other, top, "side")):
            yield side


def _native_id(path: Path, at_home: bool) -> str:
    """The id that the first event gives, else that of its folder or name, else one made of its content."""
    head = head_of(path)
    if own := timeline.document_id(head):
        return own
    if own := _ID.search(head.split(b"\n", 1)[0]):
        return own[1].decode("utf-8", "replace")
    if at_home:
        return path.parent.name if path.name == TRANSCRIPT else path.stem
    return hashlib.sha256(head.split(b"\n", 1)[0]).hexdigest()
