"""What of a session lies in files of others: an agent may keep a fork as a pointer to the session it goes on from."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from msgspec import Struct

from muniment import sources
from muniment.model import Event, Facts, Round
from muniment.sources.base import Source, Start, session_id_of
from muniment.sources.lines import Record, records
from muniment.store import evidence, rounds
from muniment.store.index import Index
from muniment.store.layout import Layout, Shelf
from muniment.store.session_table import Listed


class Earlier(Struct, frozen=True):
    """A session that another begins in."""

    shelf: Shelf
    facts: Facts
    end: int
    """Its first record that is no part of the other."""

    @property
    def source(self) -> Source:
        return sources.named(self.facts.source)

    def rounds(self) -> Iterator[Round]:
        """Its rounds up to there, read from the evidence: the last may end before its time."""
        facts = Facts(self.facts.session_id, self.facts.source, native_id=self.facts.native_id)
        yield from self.source.read(takewhile(self._is_part, self._records()), facts)

    @property
    def is_short(self) -> bool:
        """Whether less of it is there than the other begins with; of records without numbers nobody can tell."""
        numbers = [self.source.ordinal(record) for record in self._records()]
        known = [number for number in numbers if number is not None]
        return max(known) < self.end - 1 if known else not numbers

    def _is_part(self, record: Record) -> bool:
        number = self.source.ordinal(record)
        return number is None or number < self.end

    def _records(self) -> Iterator[Record]:
        manifest = evidence.load(self.shelf.evidence)
        if manifest and (kept := manifest.main):
            yield from records(self.source.open(kept.name, evidence.read(self.shelf.evidence, kept)))


class Before(Struct, frozen=True):
    """All that comes before a session, the oldest first."""

    earlier: tuple[Earlier, ...] = ()
    missing: str | None = None
    """The session in which it begins, if that is not in the archive."""

    @property
    def short(self) -> str | None:
        """The session of which the archive has less than what belongs here, if there is one."""
        return next((one.facts.session_id for one in self.earlier if one.is_short), None)

    def rounds(self) -> Iterator[Round]:
        for one in self.earlier:
            yield from one.rounds()


def find(layout: Layout, session: Listed) -> Before:
    """What comes before a session, through any number of forks."""
    earlier: list[Earlier] = []
    met = {session.session_id}
    with Index(layout) as index:
        shelf, facts = layout.shelf(session.agent_id, session.session_id), index.facts(session.session_id)
        while start := _start(shelf, facts):
            id_ = session_id_of(facts.source, start.session)
            found = next(index.sessions("WHERE session_id = ?", id_), None)
            if found is None or id_ in met:
                return Before(tuple(reversed(earlier)), id_)
            met.add(id_)
            shelf, facts = layout.shelf(found.agent_id, id_), index.facts(id_)
            earlier.append(Earlier(shelf, facts, start.end))
    return Before(tuple(reversed(earlier)))


def _start(shelf: Shelf, facts: Facts) -> Start | None:
    """Where a session begins, if its first record tells; one that goes on from another has a link to it."""
    first = next(rounds.load_all(shelf), None) if facts.links else None
    if first is None:
        return None
    source = sources.named(facts.source)
    heads = (b for b in first.blocks() if isinstance(b, Event) and b.ref.offset == first.offset)
    return next((start for head in heads if (start := source.hints(head).start)), None)
