"""Everything that a query finds, in the order in which people want it, and what was looked through."""

from __future__ import annotations

from itertools import islice

from msgspec import Struct

from muniment.search.blocks import Hit, asked, hits
from muniment.search.engagements import FoundEngagement, every
from muniment.search.query import Query, teach
from muniment.search.touched import Touched, touched
from muniment.secrets import Redactor
from muniment.store.index import Index
from muniment.store.layout import Layout


class Findings(Struct, frozen=True):
    """Each at most as many as the query's limit."""

    engagements: tuple[FoundEngagement, ...] = ()
    """The latest first; none if only blocks of some kinds were asked for."""
    files: tuple[Touched, ...] = ()
    """Sessions that touched the file, if one was asked for."""
    hits: tuple[Hit, ...] = ()
    """Blocks, best first; none without a query."""

    def __bool__(self) -> bool:
        return bool(self.engagements or self.files or self.hits)


class Searched(Struct, frozen=True):
    """What there is to search."""

    sessions: int
    blocks: int
    engagements: int
    ingested: int
    """Sessions that were understood as engagements, ghosts included."""


def find(layout: Layout, query: Query, redactor: Redactor | None = None) -> Findings:
    """Engagements, sessions that touched the file, and blocks. Raises NotFound if the words hold no letter.

    With a redactor they are given without secrets, for whoever is not the owner of the archive."""
    redactor = redactor or Redactor.off()
    words = asked(query) if query.text or query.kinds else []
    with Index(layout) as index:
        teach(index)
        files = touched(layout, index, query) if query.file is not None else None
        engagements = () if query.kinds else islice(every(layout, index, query, files), query.limit)
        sessions = None if files is None else [file.session_id for file in files]
        return Findings(
            tuple(map(redactor.record, engagements)),
            tuple(map(redactor.record, (files or ())[: query.limit])),
            tuple(hits(layout, index, query, words, sessions, redactor)) if words else (),
        )


def searched(layout: Layout) -> Searched:
    """How much there is."""
    with Index(layout) as index:
        tables = ("sessions", "texts", "engagements", "ingested")
        return Searched(*(index.rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables))
