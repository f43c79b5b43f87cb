"""Scanning the archive for secrets, a moment at a time, and remembering which sessions were scanned.

What was found is kept beside the index, one line for each session and state of it: how many secrets, and nothing of
them. It can be deleted at any time; then everything is scanned again. Only a watch writes it, and whoever forgets a
session.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache

from msgspec import Struct

from muniment.errors import StoreError
from muniment.secrets import RULES, new_key
from muniment.secrets.places import in_round
from muniment.store import index, rounds
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.notes import Notes
from muniment.store.session_table import Listed
from muniment.sweeping import Sweep

QUIET_SECONDS = 600
"""A session that went on a moment ago will go on, and would be scanned again and again."""


class Scanned(Struct, frozen=True):
    """A session that was scanned."""

    session_id: str
    revision: str
    secrets: int
    """How many different ones it holds."""
    whole: bool = True
    """Not so if a round could not be read; the scan ended there."""


def revision(row: Listed) -> str:
    """Return what changes when a session does, or the rules by which it is scanned."""
    return f"{_rules()}.{row.rounds}.{row.messages}.{row.sidechains}.{row.source_bytes}.{row.ended or ''}"


@cache
def _rules() -> str:
    from importlib.metadata import version  # slow to import, and most commands never ask for this

    told = "\n".join(f"{rule.id} {rule.pattern} {rule.search.value}" for rule in RULES)
    return hashlib.sha256(f"{version('muniment')}\n{told}".encode()).hexdigest()[:12]


# -- what is remembered


def load(layout: Layout, rows: Iterable[Listed]) -> dict[str, Scanned]:
    """Return what is known of these sessions as they are now."""
    return _notes(layout).load({row.session_id: revision(row) for row in rows})


def forget(layout: Layout, session_id: str) -> None:
    """Take out what is known of a session."""
    _notes(layout).forget(session_id)


def _notes(layout: Layout) -> Notes[Scanned]:
    return Notes(layout.scanned, Scanned)


# -- scanning


def scan(layout: Layout, row: Listed, sidechains: Iterable[str]) -> Iterator[Scanned | None]:
    """Scan a session round by round: None after each, and at last what was found."""
    tags, whole, key = set[str](), True, new_key()
    shelf = layout.shelf(row.agent_id, row.session_id)
    for own in (shelf, *map(shelf.sidechain, sidechains)):
        try:
            for round_ in rounds.load_all(own):
                tags |= {place.tag for place in in_round(round_, key)}
                yield None
        except StoreError:  # it is told of elsewhere
            whole = False
    yield Scanned(row.session_id, revision(row), len(tags), whole)


def scan_whole(layout: Layout, row: Listed, sidechains: Iterable[str]) -> Scanned:
    """Scan a session at once."""
    *_, found = scan(layout, row, sidechains)
    assert found, "a scan ends with what it found"
    return found


def subagents(known: Index, row: Listed) -> list[str]:
    """Return the ids of a session's subagents."""
    sql = "SELECT c.id FROM sidechains c JOIN sessions s ON s.id = c.session WHERE s.session_id = ?"
    return [id_ for (id_,) in known.rows(sql, row.session_id)] if row.sidechains else []


class Scan(Sweep):
    """A scan of all sessions that have changed since they were last scanned, round by round."""

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.layout = layout

    def begin(self) -> Iterator[None]:
        if not index.exists(self.layout):
            return
        with Index(self.layout) as known:
            rows = list(known.sessions())
            done = load(self.layout, rows)
            due = [(row, subagents(known, row)) for row in rows if row.session_id not in done and _is_quiet(row)]
        if due:
            _notes(self.layout).replace(done.values())
        for row, sidechains in due:
            for found in scan(self.layout, row, sidechains):
                if found:
                    self._remember(row, found)
                yield

    def _remember(self, row: Listed, found: Scanned) -> None:
        """Add a line, unless the session was forgotten meanwhile."""
        if self.layout.shelf(row.agent_id, row.session_id).exists():
            _notes(self.layout).add(found)


def _is_quiet(row: Listed) -> bool:
    try:
        ended = datetime.fromisoformat(row.ended or "")
    except ValueError:
        return True
    ended = ended if ended.tzinfo else ended.replace(tzinfo=UTC)
    return (datetime.now(UTC) - ended).total_seconds() > QUIET_SECONDS
