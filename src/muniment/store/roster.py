"""`agent-roster.jsonl`: which agent a session was, as people registered it.

    {"session_id":"4f2a9c1e","agent_name":"Reed","role":"historian"}

Sessions are named by the first eight characters of their id, or by more where others begin with the same: ids that
begin with the time do for a minute. The file may be written by other programs too, so lines that say something else
are kept as they are, and the common other names of the fields are understood.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from muniment import files
from muniment.model import codec
from muniment.store.layout import SHORT_ID, Layout

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
    """Everything that is registered; what says more of an id wins, and among equals the later line."""

    entries: tuple[Entry, ...] = ()

    def of(self, session_id: str) -> Entry | None:
        """The entry of a session."""
        fitting = [e for e in reversed(self.entries) if session_id.startswith(e.session_id)]
        return max(fitting, key=lambda e: len(e.session_id), default=None)

    def of_any(self, session_ids: Iterable[str]) -> set[Entry]:
        """The entries of these sessions."""
        return {entry for id_ in session_ids if (entry := self.of(id_))}

    def only_of(self, session_id: str, others: Collection[str]) -> set[str]:
        """The prefixes under which a session is registered and none of the others could be."""
        fitting = {e.session_id for e in self.entries if session_id.startswith(e.session_id)}
        return {prefix for prefix in fitting if not any(other.startswith(prefix) for other in others)}

    def named(self, name: str) -> Entry | None:
        """An entry with this name, whichever session it was."""
        return next((e for e in reversed(self.entries) if (e.agent_name or "").lower() == name.lower()), None)


def load(layout: Layout) -> Roster:
    """The roster as it stands; empty if there is none."""
    return Roster(tuple(entry for line in _lines(layout.roster) if (entry := _entry(line))))


def put(layout: Layout, entry: Entry, instead_of: Collection[str] = ()) -> None:
    """Register a session, in place of what was registered under its prefix and under these."""
    _write(layout, [*_without(layout, {entry.session_id, *instead_of}), codec.encode(entry)])


def remove(layout: Layout, prefixes: Collection[str]) -> None:
    """Take out what is registered under these prefixes."""
    _write(layout, list(_without(layout, prefixes)))


def _without(layout: Layout, prefixes: Collection[str]) -> Iterator[bytes]:
    for line in _lines(layout.roster):
        entry = _entry(line)
        if entry is None or entry.session_id not in prefixes:
            yield line


def _write(layout: Layout, lines: Iterable[bytes]) -> None:
    files.make_folder(layout.roster.parent)
    files.write_atomic(layout.roster, (line + b"\n" for line in lines))
    files.sync(layout.roster.parent)


def _lines(path: Path) -> list[bytes]:
    try:
        return [line for line in path.read_bytes().split(b"\n") if line.strip()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _entry(line: bytes) -> Entry | None:
    try:
        said = codec.mapping(codec.loads(line))
    except ValueError:
        return None
    session = _first(said, _SESSION)
    if session is None or len(session) < SHORT_ID:
        return None
    return Entry(_prefix_of(session.lower()), _first(said, _NAME), _first(said, _ROLE))


def _prefix_of(session: str) -> str:
    """What is longer and not written as ids are counts by its first characters."""
    return session.rstrip("-") if session[SHORT_ID:].startswith("-") else session[:SHORT_ID]


def _first(said: dict[str, Any], names: Iterable[str]) -> str | None:
    return next((value for name in names if isinstance(value := said.get(name), str) and value), None)
