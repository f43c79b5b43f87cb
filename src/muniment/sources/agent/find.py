"""Where `agent` keeps its sessions: `$XDG_CONFIG_HOME/agent/sessions/YYYYMMDD-HHMMSS-<8hex>.jsonl`, one file each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from muniment import files
from muniment.sources.base import Found, head_of, session_id_of, source_file
from muniment.sources.recorded.places import objects, registered

NAME = "agent"
FOLDER = "sessions"
_LOOKED_AT = 20
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
    for entry in files.walk(home / FOLDER):
        path = Path(entry.path)
        if _NAMED.fullmatch(entry.name) or (path.suffix == ".jsonl" and matches(path, head_of(path))):
            yield path


def matches(path: Path, head: bytes) -> bool:
    """Its own entries, or its header with nothing of another format behind it: pi has headers of the same type."""
    if not any(hint in head for hint in _HINTS):
        return False
    entries = list(_entries(head))
    if any("parentId" in entry or "parentSession" in entry for entry in entries):
        return False
    return any(_is_own(entry) for entry in entries) or bool(entries and _is_header(entries[0]))


def _entries(head: bytes) -> Iterator[dict[str, Any]]:
    """The first lines that are whole."""
    return objects(head.split(b"\n")[:_LOOKED_AT])


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
    for path in paths:
        base = path.parent.parent if path.parent.name == FOLDER else None
        top = base or root
        if main := source_file(path, top, "main"):
            native = _native_id(path)
            session = session_id_of(NAME, native)
            named = None if session == native else native
            yield Found(NAME, session, str(top), base in known_homes, (main,), named)


def _native_id(path: Path) -> str:
    """The id in the header, else the file's name."""
    for entry in _entries(head_of(path)):
        if entry.get("type") == "session" and isinstance(own := entry.get("id"), str):
            return own
    return path.stem
