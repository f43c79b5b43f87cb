"""`agent-roster.jsonl`: which agent a session was, as people registered it.

    {"session_id":"4f2a9c1e","agent_name":"Reed","role":"historian"}

Sessions are named by the first eight characters of their id. The file may be written by other programs too, so lines
that say something else are kept as they are, and the common other names of the fields are understood.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from muniment import files
from muniment.model import codec
from muniment.store.layout import Layout

PREFIX_CHARS = 8
_SESSION = ("session_id", "session", "prefix", "id")
_NAME = ("agent_name", "name", "agent")
_ROLE = ("role", "agent_role")


class Entry(Struct, frozen=True):
    """One registered session."""

    session_id: str
    """The first characters of its id."""
    agent_name: str | None = None
    role: str | None = None


class Roster(Struct, frozen=True):
    """Everything that is registered; later lines win."""

    entries: tuple[Entry, ...] = ()

    def of(self, session_id: str) -> Entry | None:
        """The entry of a session."""
        return next((e for e in reversed(self.entries) if session_id.startswith(e.session_id.lower())), None)

    def named(self, name: str) -> Entry | None:
        """An entry with this name, whichever session it was."""
        return next((e for e in reversed(self.entries) if (e.agent_name or "").lower() == name.lower()), None)


def load(layout: Layout) -> Roster:
    """The roster as it stands; empty if there is none."""
    return Roster(tuple(entry for line in _lines(layout.roster) if (entry := _entry(line))))


def put(layout: Layout, entry: Entry) -> None:
    """Register a session, in place of what was registered for it."""
    _write(layout, [*_without(layout, entry.session_id), codec.encode(entry)])


def remove(layout: Layout, session_id: str) -> bool:
    """Take a session out; tells whether it was there."""
    kept = list(_without(layout, session_id))
    if len(kept) == len(_lines(layout.roster)):
        return False
    _write(layout, kept)
    return True


def _without(layout: Layout, session_id: str) -> Iterator[bytes]:
    prefix = session_id[:PREFIX_CHARS]
    for line in _lines(layout.roster):
        entry = _entry(line)
        if entry is None or entry.session_id[:PREFIX_CHARS].lower() != prefix:
            yield line


def _write(layout: Layout, lines: Iterable[bytes]) -> None:
    files.make_folder(layout.roster.parent)
    files.write_atomic(layout.roster, (line + b"\n" for line in lines))
    files.sync(layout.roster.parent)


def _lines(path: Path) -> list[bytes]:
    try:
        return [line for line in path.read_bytes().split(b"\n") if line.strip()]
    except FileNotFoundError:
        return []


def _entry(line: bytes) -> Entry | None:
    try:
        said = codec.mapping(codec.loads(line))
    except ValueError:
        return None
    session = _first(said, _SESSION)
    if session is None or len(session) < PREFIX_CHARS:
        return None
    return Entry(session[:PREFIX_CHARS].lower(), _first(said, _NAME), _first(said, _ROLE))


def _first(said: dict[str, Any], names: Iterable[str]) -> str | None:
    return next((value for name in names if isinstance(value := said.get(name), str) and value), None)
