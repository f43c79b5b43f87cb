"""Formats with one file for each session: how such files are found, and the time in their names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from muniment import files
from muniment.sources.base import Found, found_session, head_of, source_file

FOLDER = "sessions"


def candidates(folder: Path, named: re.Pattern[str], matches: Callable[[Path, bytes], bool]) -> Iterator[Path]:
    """Sessions in a folder: by their names, or else by what is in them."""
    for entry in files.walk(folder):
        path = Path(entry.path)
        if named.fullmatch(entry.name) or (path.suffix == ".jsonl" and _may_match(path, matches)):
            yield path


def _may_match(path: Path, matches: Callable[[Path, bytes], bool]) -> bool:
    """What may not be read may be one: whoever takes candidates tells of it."""
    return not os.access(path, os.R_OK) or matches(path, head_of(path))


def gather(
    source: str,
    paths: Iterable[Path],
    root: Path,
    homes: Sequence[Path],
    home_of: Callable[[Path], Path],
    native_id: Callable[[Path], str],
) -> Iterator[Found]:
    """One session per file; `home_of` is asked for files that lie in a folder of sessions."""
    for path in paths:
        home = home_of(path) if path.parent.name == FOLDER else None
        top = home or root
        if main := source_file(path, top, "main"):
            yield found_session(source, native_id(path), top, home in homes, (main,))


def start_of(started: str) -> datetime:
    """When a session began, for the name of its file: in UTC, and 1970 where it does not tell."""
    try:
        at = datetime.fromisoformat(started)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return at.astimezone(UTC) if at.tzinfo else at
