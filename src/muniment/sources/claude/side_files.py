"""Side files of Claude Code sessions: whose a file is by its place alone, whatever is in it.

<project>/<uuid>/tool-results/…  subagents/…  workflows/…        beside the transcript `<project>/<uuid>.jsonl`
<home>/file-history/<uuid>/…  <home>/tasks/<uuid>/…              file backups, task lists
<home>/todos/<uuid>-agent-<uuid>.json                            task lists of older versions

The client deletes a transcript and leaves some of these behind, so they may be all that is left of a session.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from muniment import files
from muniment.sources.base import SourceFile, source_file

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
PROJECTS = "projects"
_IN_SESSION = frozenset({"tool-results", "workflows"})
_AGENT = re.compile(r"subagents/(.*/)?agent-[^/]*")
"""Below the folder of a session; another agent has a folder of the same name, and other names in it."""
IN_HOME = ("file-history", "tasks")
_TODOS = "todos"
_TODO = re.compile(rf"({UUID.pattern})-agent-.*\.json")
_EMPTY_TODO_BYTES = 2
"""An empty list: older versions left one for every session, thousands of them."""


class Owner(NamedTuple):
    """The session that a side file belongs to."""

    folder: Path
    """The folder of its project; the home's folder of projects for a file that names none."""
    native_id: str


def owner_of(path: Path) -> Owner | None:
    """Return the session that a file is beside; None if its place does not tell."""
    parts = path.parts
    for at in range(len(parts) - 2, 0, -1):
        if UUID.fullmatch(parts[at]):
            folder = Path(*parts[:at])
            if folder.name in IN_HOME and is_home(folder.parent):
                return Owner(folder.parent / PROJECTS, parts[at])
            if _is_session_folder(folder, parts[at], parts[at + 1 :]):
                return Owner(folder, parts[at])
    if path.parent.name == _TODOS and (todo := _TODO.fullmatch(path.name)) and is_home(path.parent.parent):
        return Owner(path.parent.parent / PROJECTS, todo[1])
    return None


def _is_session_folder(folder: Path, native_id: str, below: tuple[str, ...]) -> bool:
    """Exports have folders with ids for names, too: what lies there is a session's only where something shows it."""
    if folder.parent.name == PROJECTS or below[0] in _IN_SESSION or _AGENT.fullmatch("/".join(below)):
        return True
    return (folder / f"{native_id}.jsonl").is_file()


def is_home(folder: Path) -> bool:
    """Return whether a folder looks like the client's home."""
    return folder.name == ".claude" or (folder / PROJECTS).is_dir()


def in_home(home: Path, native_id: str) -> Iterator[SourceFile | None]:
    """Return the side files of a session that lie in folders of the home."""
    for name in IN_HOME:
        yield from (source_file(Path(entry.path), home, "side") for entry in files.walk(home / name / native_id))
    folder = home / _TODOS
    for path in _todos(folder, files.changed_at(folder)).get(native_id, ()):
        if (file := source_file(path, home, "side")) and file.size > _EMPTY_TODO_BYTES:
            yield file


@lru_cache(maxsize=4)
def _todos(folder: Path, _changed: tuple[int, int]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for entry in files.walk(folder):
        if todo := _TODO.fullmatch(entry.name):
            found.setdefault(todo[1], []).append(Path(entry.path))
    return found


def of_home(home: Path) -> Iterator[tuple[Path, str]]:
    """Return every side file in folders of the home, and the session that it names."""
    for name in (*IN_HOME, _TODOS):
        for entry in files.walk(home / name):
            path = Path(entry.path)
            if (owner := owner_of(path)) and (name != _TODOS or entry.stat().st_size > _EMPTY_TODO_BYTES):
                yield path, owner.native_id


class Projects:
    """Which sessions of a home have a transcript, or a folder of side files, and in which projects."""

    def __init__(self, folder: Path) -> None:
        self.transcripts: set[str] = set()
        self.folders: dict[str, Path] = {}
        """By session: the first project that has a folder of it."""
        for project in _folders_in(folder):
            for entry in _entries(project):
                name, is_folder = entry.name, entry.is_dir(follow_symlinks=False)
                if is_folder and UUID.fullmatch(name):
                    self.folders.setdefault(name, Path(project))
                elif not is_folder and name.endswith(".jsonl") and UUID.fullmatch(name[:-6]):
                    self.transcripts.add(name[:-6])


def _folders_in(folder: Path) -> list[str]:
    return [entry.path for entry in _entries(folder) if entry.is_dir(follow_symlinks=False)]


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
