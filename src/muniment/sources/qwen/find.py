"""Where Qwen Code keeps a session, and which files make it up.

<home>/projects/<project>/chats/<id>.jsonl                   the transcript; below `archive` once it was put away
<home>/projects/<project>/subagents/<id>/agent-<name>.jsonl  its subagents, with agent-<name>.meta.json
<home>/file-history/<id>/…                                   files as they were before edits
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment import files
from muniment.model import codec
from muniment.sources.base import Found, SourceFile, found_session, head_of, source_file
from muniment.sources.homes import Home
from muniment.sources.places import Places

NAME = "qwen"
PROJECTS = "projects"
CHATS = "chats"
ARCHIVE = "archive"
AGENTS = "subagents"
BACKUPS = "file-history"
PLACES = Places(
    main=(f"{PROJECTS}/*/{CHATS}/{{id}}.jsonl", f"{PROJECTS}/*/{CHATS}/{ARCHIVE}/{{id}}.jsonl"),
    sidechain=(f"{PROJECTS}/*/{AGENTS}/{{id}}/**/agent-*.jsonl", f"{PROJECTS}/*/agent-*.jsonl"),
    side=(f"{PROJECTS}/*/{AGENTS}/{{id}}/**", f"{BACKUPS}/{{id}}/**"),
)

HOME = Home(".qwen", shown_by=(PROJECTS,), places=PLACES, named=r"([0-9a-f-]{36}|agent-.*)\.jsonl")

_LOOKED_AT = 20
_TYPES = ("user", "assistant", "tool_result", "system")
_OWN = frozenset({"uuid", "parentUuid", "sessionId", "timestamp"})
_CUT = re.compile(rb'\s*\{[^{}]*"parentUuid"\s*:[^{}]*"message"\s*:\s*\{\s*"role"\s*:\s*"\w+"\s*,\s*"parts"\s*:')
_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,128})"')


def homes(env: Mapping[str, str]) -> list[Path]:
    """`$QWEN_RUNTIME_DIR` else `$QWEN_HOME` else `~/.qwen`."""
    if given := env.get("QWEN_RUNTIME_DIR") or env.get("QWEN_HOME"):
        return [Path(given).expanduser()]
    return [Path(env.get("HOME") or Path.home()) / ".qwen"]


def candidates(home: Path) -> Iterator[Path]:
    """Transcripts and subagent files below a home."""
    for entry in files.walk(home / PROJECTS):
        path = Path(entry.path)
        if path.suffix == ".jsonl" and (_is_agent(path) or _project_of(path)):
            yield path


def is_side_file(path: Path) -> bool:
    """Return whether the place of a file says that it is no transcript, whatever is in it."""
    return HOME.has_side_file(path)


def matches(path: Path, head: bytes) -> bool:
    """Records that name the one before them, with content in parts or what the program noted."""
    return any(_is_record(line) for line in head.split(b"\n")[:_LOOKED_AT])


def _is_record(line: bytes) -> bool:
    """A whole line by its fields; one cut off by the end of the head by its first ones."""
    if b'"parentUuid"' not in line:
        return False
    try:
        record = codec.mapping(codec.loads(line))
    except ValueError:
        return bool(_CUT.match(line))
    if not record.keys() >= _OWN or record.get("type") not in _TYPES:
        return False
    told = isinstance(record.get("systemPayload"), dict) and "subtype" in record
    return told or isinstance(codec.mapping(record.get("message")).get("parts"), list)


def gather(paths: Iterable[Path], root: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    """One `Found` per transcript; subagent files without a transcript make one of their own."""
    mains: list[tuple[Path, Path, str]] = []
    agents: dict[tuple[Path, str], list[Path]] = {}
    for path in (path for path in paths if not is_side_file(path)):
        if _is_agent(path):
            agents.setdefault(_parent_of(path), []).append(path)
        else:
            mains.append((path, _project_of(path) or path.parent, _native_id(path)))
    for path, project, native_id in mains:
        yield _found(path, project, native_id, agents.pop((project, native_id), []), root, known_homes)
    for (project, native_id), found in agents.items():
        yield _found(None, project, native_id, found, root, known_homes)


def _is_agent(path: Path) -> bool:
    return path.name.startswith("agent-") and path.suffix == ".jsonl"


def _parent_of(path: Path) -> tuple[Path, str]:
    """Project folder and session id of a subagent's file, by its place if that tells, else by its content."""
    if path.parent.parent.name == AGENTS:
        return path.parents[2], path.parent.name
    return path.parent, _native_id(path)


def _project_of(path: Path) -> Path | None:
    """The folder of the project that a transcript lies in, told by the folders above it."""
    chats = path.parent.parent if path.parent.name == ARCHIVE else path.parent
    return chats.parent if chats.name == CHATS else None


def _found(
    main: Path | None, project: Path, native_id: str, agents: list[Path], root: Path, known_homes: Sequence[Path]
) -> Found:
    home = project.parent.parent if project.parent.name == PROJECTS else None
    top = home or root
    below = set(agents)
    if home and _is_name(native_id):
        for folder in (project / AGENTS / native_id, home / BACKUPS / native_id):
            below |= {Path(entry.path) for entry in files.walk(folder)}
    found = [source_file(main, top, "main") if main else None, *(_beside(path, top) for path in sorted(below))]
    return found_session(NAME, native_id, top, home in known_homes, [file for file in found if file])


def _beside(path: Path, top: Path) -> SourceFile | None:
    if _is_agent(path):
        return source_file(path, top, "sidechain", path.stem.removeprefix("agent-"))
    return source_file(path, top, "side")


def _is_name(native_id: str) -> bool:
    """Whether a folder can be named by it; an id that is a path leads elsewhere."""
    return native_id not in ("", "..") and "\0" not in native_id and Path(native_id).name == native_id


def _native_id(path: Path) -> str:
    """The id that the records give, else that of the file among others, else one made of its content."""
    head = head_of(path)
    if own := _ID.search(head):
        return own[1].decode("utf-8", "replace")
    return path.stem if _project_of(path) else hashlib.sha256(head.split(b"\n", 1)[0]).hexdigest()
