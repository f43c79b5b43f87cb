"""Asking a source for its sessions, so that one that fails hides nothing of the others.

A source is asked about files that other programs wrote, and some sources are written by others. Whatever goes wrong is
noted by the name of the file, the folder or the source (`files.refuse`), and raised only where nobody keeps notes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from traceback import extract_tb

from muniment import files
from muniment.errors import MunimentError
from muniment.sources.base import Found, Source

FAULT = "the source fails"
MOST_FAILING = 50
"""Files that may fail one by one, before all that a source has in a folder is given up."""


def homes_of(source: Source, env: Mapping[str, str]) -> list[Path]:
    """The folders of an agent on this machine."""
    try:
        return list(source.homes(env))
    except Exception as error:
        note(source, Path(source.name), error)
        return []


def known_homes(source: Source, env: Mapping[str, str]) -> list[Path]:
    """Return the folders of an agent, none for a source that fails: whoever does not look for sessions goes on
    without it, and `muniment sources` reports it."""
    try:
        return list(source.homes(env))
    except Exception:
        return []


def find_at(source: Source, home: Path, env: Mapping[str, str]) -> list[Found]:
    """The sessions in one home of an agent."""
    return gather(source, candidates(source, home), home, env)


def candidates(source: Source, home: Path) -> list[Path]:
    """The files of a home that belong to sessions; one of another user must not keep all others from being found."""
    found: list[Path] = []
    try:
        found.extend(source.candidates(home))
    except Exception as error:
        note(source, home, error)
    return [path for path in found if _may_read(path)]


def remembered(source: Source, home: Path) -> list[Found]:
    """The sessions that an agent's histories know."""
    found: list[Found] = []
    try:
        found.extend(source.remembered(home))
    except Exception as error:
        note(source, home, error)
    return found


def gather(source: Source, paths: Iterable[Path], root: Path, env: Mapping[str, str]) -> list[Found]:
    """The sessions that these files make up, without those files that a source fails at."""
    known, left = homes_of(source, env), list(paths)
    found: list[Found] = []
    try:
        found.extend(source.gather(left, root, known))
        return found
    except Exception as error:
        failing = dict(islice(_failing(source, left, root, known), MOST_FAILING + 1))
        if not 0 < len(failing) <= MOST_FAILING:
            note(source, root, error)
            return found
    for path, error in failing.items():
        note(source, path, error)
    return gather(source, [path for path in left if path not in failing], root, env)


def _failing(
    source: Source, paths: Sequence[Path], root: Path, homes: Sequence[Path]
) -> Iterator[tuple[Path, Exception]]:
    """The files at which a source fails, by halves: among thousands there are few."""
    try:
        for _ in source.gather(paths, root, homes):
            pass
    except Exception as error:
        if len(paths) < 2:
            yield from ((path, error) for path in paths)
            return
        middle = len(paths) // 2
        yield from _failing(source, paths[:middle], root, homes)
        yield from _failing(source, paths[middle:], root, homes)


def matches(source: Source, path: Path, head: bytes) -> bool:
    """Whether a file is a source's own; one that cannot tell has no claim to it."""
    try:
        return source.matches(path, head)
    except Exception as error:
        note(source, path, error)
        return False


def is_side_file(source: Source, path: Path) -> bool:
    """Whether a source knows a file to be beside a session."""
    try:
        return source.is_side_file(path)
    except Exception as error:
        note(source, path, error)
        return False


def _may_read(path: Path) -> bool:
    if os.access(path, os.R_OK):
        return True
    if not files.is_gone(path):
        files.refuse(path)
    return False


def note(source: Source, place: Path, error: Exception) -> None:
    """Keep in mind what a source failed at; a file that is gone by now is no failure."""
    if isinstance(error, OSError | MunimentError) and files.is_gone(place):
        return
    if not files.refuse(place, f"{files.UNREADABLE}: {_reason(source, error)}"):
        raise error


def _reason(source: Source, error: Exception) -> str:
    """In one line: what a file does, or where the source has a bug."""
    if isinstance(error, MunimentError):
        return error.message
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    place = extract_tb(error.__traceback__)[-1]
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{FAULT} ({source.name}: {said}, {os.path.basename(place.filename)}:{place.lineno})"


def is_fault(why: str) -> bool:
    """Whether a place was refused because a source has a bug, and not for what is there."""
    return FAULT in why
