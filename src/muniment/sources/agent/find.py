"""Where `agent` keeps its sessions: `$XDG_CONFIG_HOME/agent/sessions/YYYYMMDD-HHMMSS-<8hex>.jsonl`, one file each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from muniment.sources.base import Found, head_of
from muniment.sources.places import Places
from muniment.sources.recorded import single
from muniment.sources.recorded.places import first_objects, registered
from muniment.sources.recorded.single import FOLDER

NAME = "agent"
PLACES = Places(main=(f"{FOLDER}/*.jsonl",))
_NAMED = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}\.jsonl")
_HINTS = (b'"session"', b'"parent_id"', b'"parent_session_path"')
"""One of these stands in every file; most files of others have none, and need not be parsed to be told apart."""


def homes(env: Mapping[str, str]) -> list[Path]:
    """`$XDG_CONFIG_HOME/agent`, else `~/.config/agent`; then folders that a recorder was told to use."""
    given = env.get("XDG_CONFIG_HOME")
    base = Path(given) if given and Path(given).is_absolute() else Path(env.get("HOME") or Path.home()) / ".config"
    recorded = (folder for folder in registered(env) if (folder / FOLDER).is_dir())
    return list(dict.fromkeys([base / "agent", *recorded]))


def candidates(home: Path) -> Iterator[Path]:
    """Sessions below a home: by their names, or else by what is in them."""
    return single.candidates(home / FOLDER, _NAMED, matches)


def matches(path: Path, head: bytes) -> bool:
    """Its own entries, or its header with nothing of another format behind it: pi has headers of the same type."""
    if not any(hint in head for hint in _HINTS):
        return False
    entries = list(first_objects(head))
    if any("parentId" in entry or "parentSession" in entry for entry in entries):
        return False
    return any(_is_own(entry) for entry in entries) or bool(entries and _is_header(entries[0]))


def _is_own(entry: dict[str, Any]) -> bool:
    match entry.get("type"):
        case "message":
            return isinstance(entry.get("role"), str) and isinstance(entry.get("message"), dict) and "id" in entry
        case "compaction":
            return "first_kept_entry_id" in entry
        case "branch":
            return "parent_session_path" in entry and "fork_entry_id" in entry
        case _:
            return False


def _is_header(entry: dict[str, Any]) -> bool:
    return entry.get("type") == "session" and isinstance(entry.get("id"), str) and entry.get("version") == 1


def gather(paths: Iterable[Path], root: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    """One session per file."""
    return single.gather(NAME, paths, root, known_homes, lambda path: path.parent.parent, _native_id)


def _native_id(path: Path) -> str:
    """The id in the header, else the file's name."""
    for entry in first_objects(head_of(path)):
        if entry.get("type") == "session" and isinstance(own := entry.get("id"), str):
            return own
    return path.stem
