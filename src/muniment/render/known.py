"""Everything a page tells about a session beside its conversation, gathered in one read of the store."""

from __future__ import annotations

import hashlib

from msgspec import Struct, structs

from muniment.model import Facts, codec
from muniment.model.engagements import Ingested, KeptEngagement
from muniment.secrets import Redactor
from muniment.store import engagements, head
from muniment.store.index import Index
from muniment.store.layout import Layout, Shelf
from muniment.store.session_table import Listed

PAGE_VERSION = 3
"""Raised when pages come out differently, so that a site is written anew."""


class Known(Struct, frozen=True):
    """One session as a page sees it."""

    listed: Listed
    facts: Facts
    sides: dict[str, Facts]
    shelf: Shelf
    ingested: Ingested | None
    tags: dict[int, str]
    """The engagement of every round."""
    abandoned: frozenset[int]
    """Rounds that a rewind left behind."""

    @property
    def engagements(self) -> tuple[KeptEngagement, ...]:
        return self.ingested.engagements if self.ingested else ()

    @property
    def title(self) -> str:
        """The name of the session, on one line."""
        return " ".join(self.facts.display_title.split())

    @property
    def summary(self) -> str:
        """One line, a person's before the extractor's; one that repeats the title says nothing."""
        said = (self.listed.summary, self.ingested.session_summary if self.ingested else "")
        nothing = ("", self.listed.title, head.placeholder(self.listed.title))
        return next((summary for summary in said if summary not in nothing), "")

    @property
    def agent(self) -> str:
        named = self.ingested.agent_name if self.ingested else None
        return named or self.facts.agent_name or self.listed.agent_id

    def redacted(self, redactor: Redactor) -> Known:
        """Return the same without secrets; subagents keep the ids under which they lie in the store."""
        return structs.replace(
            self,
            listed=redactor.record(self.listed),
            facts=redactor.record(self.facts),
            sides={id_: redactor.record(facts) for id_, facts in self.sides.items()},
            ingested=self.ingested and redactor.record(self.ingested),
            tags={number: redactor.line(id_) for number, id_ in self.tags.items()},
        )

    def stamp(self, *options: object) -> str:
        """The same as long as a page of it would be."""
        about = [PAGE_VERSION, self.listed, self.facts, self.sides, self.ingested, self.tags, sorted(self.abandoned)]
        return hashlib.sha256(codec.encode([*about, *map(repr, options)])).hexdigest()[:32]


def load(layout: Layout, index: Index, listed: Listed, ingested: Ingested | None) -> Known:
    """What is known of a session."""
    id_ = listed.session_id
    sql = "SELECT c.id, c.facts FROM sidechains c JOIN sessions s ON s.id = c.session WHERE s.session_id = ?"
    sides = {side: codec.decode(text.encode(), Facts) for side, text in index.rows(sql, id_)}
    tags = engagements.tags(layout, ingested, id_)
    shelf = layout.shelf(listed.agent_id, id_)
    return Known(listed, index.facts(id_), sides, shelf, ingested, tags, frozenset(index.abandoned(id_)))


def understood(layout: Layout) -> dict[str, Ingested]:
    """Every session that was understood, by its id."""
    return {record.session_id: record for record in engagements.load(layout)}


def find(layout: Layout, listed: Listed) -> Known:
    """What is known of one session."""
    with Index(layout) as index:
        return load(layout, index, listed, understood(layout).get(listed.session_id))
