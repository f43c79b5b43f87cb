"""Where recorded sessions lie, and which files make one up.

<project>/.transcripts/<session>.jsonl          the transcript
<project>/.transcripts/<session>.jsonl.s1       where it went on after the disk failed to sync
<project>/.sidechains/<task-id>.jsonl           a subagent; its header names the session as `parent`

The recorder keeps a register of the folders it was used in. A segment is a part of its session with a
document of its own, like a subagent: what is in it twice, because it was written again, was said once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from muniment import config, files
from muniment.model import codec
from muniment.model.events import HEADER
from muniment.sources.base import Found, SourceFile, found_session, head_of, source_file
from muniment.sources.native.dialect import FOLDER
from muniment.sources.places import Places
from muniment.sources.recorded.places import first_objects, registered

NAME = "native"
SIDECHAINS = ".sidechains"
_BELOW = ("**/*.jsonl", "**/*.jsonl.s*")
PLACES = Places(
    main=tuple(f"{FOLDER}/{below}" for below in _BELOW),
    sidechain=tuple(f"{folder}/{below}" for folder in (FOLDER, SIDECHAINS) for below in _BELOW),
)
SEGMENT = "segment-"
"""Begins the id of a segment among the parts of its session."""
_FILE = re.compile(r".+\.jsonl(?:\.s(\d+))?")
_FIELDS = {"type", "ts", "uuid", "payload"}


def homes(env: Mapping[str, str]) -> list[Path]:
    """The folders in the register; without any, the recorder's own."""
    return registered(env) or [config.recorder_home(env)]


def candidates(home: Path) -> Iterator[Path]:
    """Transcripts, their segments, and sidechains of a project."""
    for folder in (FOLDER, SIDECHAINS):
        for entry in files.walk(home / folder):
            if _FILE.fullmatch(entry.name):
                yield Path(entry.path)


def matches(path: Path, head: bytes) -> bool:
    """Events with their four fields, in any of the first lines."""
    if b'"payload"' not in head:
        return False
    if b"\n" not in head and head.startswith(b'{"type":"header","ts":'):
        return True  # a header longer than what is looked at
    return any(_is_event(line) for line in first_objects(head))


def _is_event(line: dict[str, Any]) -> bool:
    named = line.keys() >= _FIELDS and all(isinstance(line[name], str) for name in ("type", "uuid"))
    return named and type(line["ts"]) in (str, int, float)


def gather(paths: Iterable[Path], root: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    """One session per transcript, with its segments and subagents; those without a transcript make one of their own.

    A file that is given by itself brings the rest of its session, and nothing of another."""
    projects: dict[Path, set[Path]] = {}
    for path in paths:
        projects.setdefault(_project(path) or root, set()).add(path)
    for project, given in projects.items():
        yield from _gathered(project, given, known_homes)


def _gathered(project: Path, given: set[Path], known_homes: Sequence[Path]) -> Iterator[Found]:
    mains = {path: _session(path) for path in sorted(given) if _is_main(path)}
    parents = {path: _parent(path) for path in _beside(project, given) if path not in mains}
    meant = {*mains.values(), *(parent for path, parent in parents.items() if path in given)}
    mains |= _transcripts_of(project, meant - {*mains.values()})
    parts: dict[str, list[SourceFile]] = {}
    for path, parent in parents.items():
        if parent in meant and (made := _part(path, project)):
            parts.setdefault(parent, []).append(made)
    for main, native in mains.items():
        yield from _found(main, native, project, parts.pop(native, []), known_homes)
    for native, left in parts.items():
        yield from _found(None, native, project, left, known_homes)


def _transcripts_of(project: Path, sessions: set[str]) -> dict[Path, str]:
    """The transcripts of sessions of which only a part was given, where they are in their place."""
    there = {path.stem: path for path in candidates(project) if sessions and path.stem in sessions and _is_main(path)}
    return {path: name for name, path in there.items() if matches(path, head_of(path))}


def _project(path: Path) -> Path | None:
    return path.parent.parent if path.parent.name in (FOLDER, SIDECHAINS) else None


def _beside(project: Path, given: set[Path]) -> list[Path]:
    """What was given, and the parts of sessions that lie beside it."""
    return sorted({*given, *(path for path in candidates(project) if not _is_main(path))})


def _is_main(path: Path) -> bool:
    return path.name.endswith(".jsonl") and path.parent.name != SIDECHAINS and not _header(path).get("parent")


def _header(path: Path) -> dict[str, Any]:
    """What the header of a file says, if its first lines hold one."""
    for line in first_objects(head_of(path)):
        if line.get("type") == HEADER:
            return codec.mapping(line.get("payload"))
    return {}


def _session(path: Path) -> str:
    own = _header(path).get("session_id")
    return own if isinstance(own, str) and own else path.stem


def _parent(path: Path) -> str:
    """The session that a segment or a sidechain belongs to."""
    if _segment(path):
        main = path.with_name(path.name.rpartition(".")[0])
        return _session(main) if main.is_file() else main.stem
    named = _header(path).get("parent")
    return named if isinstance(named, str) and named else path.stem


def _segment(path: Path) -> str | None:
    named = _FILE.fullmatch(path.name)
    return named[1] if named else None


def _part(path: Path, project: Path) -> SourceFile | None:
    number = _segment(path)
    return source_file(path, project, "sidechain", f"{SEGMENT}{number}" if number else path.stem)


def _found(
    main: Path | None, native: str, project: Path, parts: list[SourceFile], known_homes: Sequence[Path]
) -> Iterator[Found]:
    own = source_file(main, project, "main") if main else None
    present = ((own,) if own else ()) + tuple(sorted(parts, key=lambda file: file.name))
    if present:
        yield found_session(NAME, native, project, project in known_homes, present)
