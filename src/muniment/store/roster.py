"""`agent-roster.jsonl`: which agent a session was, as people registered it.

    {"session_id":"4f2a9c1e","agent_name":"Reed","role":"historian"}

Sessions are named by the first eight characters of their id, or by more where others begin with the same: ids that
begin with the time do for a minute. The file may be written by other programs too, so lines that say something else
are kept as they are, and the common other names of the fields are understood. Whoever shows names reads it again when
it has changed: the index is seen through it (`see_through`), and ingestion writes down what it says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from muniment import files
from muniment.model import codec
from muniment.store.layout import SHORT_ID, Layout

_SESSION = ("session_id", "session", "prefix", "id")
_NAME = ("agent_name", "name", "agent")
_ROLE = ("role", "agent_role")
_NOT_THERE = (0, 0)
BY_ROSTER = "roster"
_WEAKER = (None, BY_ROSTER, "extractor")
"""Where a name came from that one of the roster takes the place of."""

Shown = tuple[str | None, str | None, str | None]
"""Name, where it is from, and role."""


class Entry(Struct, frozen=True):
    """One registered session."""

    session_id: str
    """The first characters of its id."""
    agent_name: str | None = None
    role: str | None = None


class Roster(Struct, frozen=True, dict=True):
    """Everything that is registered; what says more of an id wins, and among equals the later line."""

    entries: tuple[Entry, ...] = ()

    def of(self, session_id: str) -> Entry | None:
        """The entry of a session."""
        found = (self._by_prefix.get(session_id[:length]) for length in self._lengths)
        return next(filter(None, found), None)

    @cached_property
    def _by_prefix(self) -> dict[str, Entry]:
        return {entry.session_id: entry for entry in self.entries}

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({len(prefix) for prefix in self._by_prefix}, reverse=True)

    def of_any(self, session_ids: Iterable[str]) -> set[Entry]:
        """The entries of these sessions."""
        return {entry for id_ in session_ids if (entry := self.of(id_))}

    def only_of(self, session_id: str, others: Collection[str]) -> set[str]:
        """The prefixes under which a session is registered and none of the others could be."""
        fitting = {e.session_id for e in self.entries if session_id.startswith(e.session_id)}
        return {prefix for prefix in fitting if not any(other.startswith(prefix) for other in others)}

    def named(self, name: str) -> Entry | None:
        """An entry with this name, whichever session it was."""
        return self._by_name.get(name.lower())

    @cached_property
    def _by_name(self) -> dict[str, Entry]:
        return {(entry.agent_name or "").lower(): entry for entry in self.entries}

    def shown(self, session_id: str, was: Shown) -> Shown:
        """Who a session is, of which this is written down: names that the session itself gives stay."""
        entry = self.of(session_id)
        name, by, role = was
        if by in _WEAKER and entry and entry.agent_name:
            name, by = entry.agent_name, BY_ROSTER
        elif by == BY_ROSTER:
            name, by = None, None
        known = entry or (self.named(name) if name else None)
        return name, by, (known and known.role) or (None if was[1] == BY_ROSTER else role)


def load(layout: Layout) -> Roster:
    """The roster as it stands; empty if there is none."""
    return _load(str(layout.roster), files.changed_at(layout.roster))


@lru_cache(maxsize=2)
def _load(path: str, changed: tuple[int, int]) -> Roster:
    return Roster(tuple(entry for line in _lines(Path(path)) if (entry := _entry(line))))


# -- the index, seen through it

_SEEN = """CREATE TEMP VIEW ingested AS SELECT session_id, state, extractor, ghost,
  registered(0, session_id, agent_name, agent_name_from, agent_role) AS agent_name,
  registered(1, session_id, agent_name, agent_name_from, agent_role) AS agent_name_from,
  registered(2, session_id, agent_name, agent_name_from, agent_role) AS agent_role,
  slug, summary FROM main.ingested"""
_OTHERWISE = """SELECT session_id FROM ingested i JOIN main.ingested m USING (session_id)
WHERE i.agent_name IS NOT m.agent_name OR i.agent_role IS NOT m.agent_role"""


def see_through(layout: Layout, db: Any) -> None:
    """Let a connection that reads find the names of the roster in `ingested`, written down there or not."""
    if files.changed_at(layout.roster) == _NOT_THERE:
        return
    known = load(layout)

    def registered(which: int, session_id: str, *was: str | None) -> str | None:
        name, by, role = was
        return known.shown(session_id, (name, by, role))[which]

    db.create_scalar_function("registered", registered, 5, deterministic=True)
    db.execute(_SEEN)


def otherwise(db: Any) -> set[str]:
    """Sessions of which the roster says something else than what is written down."""
    return {session_id for (session_id,) in db.execute(_OTHERWISE)}


# -- writing


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
    files.write_durable(layout.roster, (line + b"\n" for line in lines))
    files.sync(layout.roster.parent)


def _lines(path: Path) -> list[bytes]:
    try:
        return [line for line in files.read_regular(path).split(b"\n") if line.strip()]
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, files.Irregular):
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
