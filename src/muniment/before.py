"""What of a session lies in files of others: an agent may keep a fork as a pointer to the session it goes on from."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from muniment import sources
from muniment.model import Event, Facts, Round
from muniment.sources.base import Start, session_id_of
from muniment.sources.lines import records
from muniment.store import evidence, rounds
from muniment.store.index import Index, Listed
from muniment.store.layout import Layout, Shelf


class Earlier(Struct, frozen=True):
    """A session that another begins in."""

    shelf: Shelf
    facts: Facts
    end: int
    """Its first record that is no part of the other."""

    def rounds(self) -> Iterator[Round]:
        """Its rounds up to there, read from the evidence: the last may end before its time."""
        manifest = evidence.load(self.shelf.evidence)
        if manifest is None or manifest.main is None:
            return
        source, kept = sources.named(manifest.source), manifest.main
        lines = records(source.open(kept.name, evidence.read(self.shelf.evidence, kept)))
        facts = Facts(self.facts.session_id, self.facts.source, native_id=self.facts.native_id)
        yield from source.read(source.until(lines, self.end), facts)


class Before(Struct, frozen=True):
    """All that comes before a session, the oldest first."""

    earlier: tuple[Earlier, ...] = ()
    missing: str | None = None
    """The session in which it begins, if that is not in the archive."""

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
