"""Full text over every block: what matches, ranked, and the words around it.

Every block that matches is found, if the limit allows. Ranking a word that is in half of all blocks would take longer
than anybody waits and says little, so blocks are ranked in portions, what was inscribed last first: the best of the
first portion, then the best of the next. A query that fewer blocks answer than `PORTION` is ranked as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

from msgspec import Struct

from muniment.errors import NotFound
from muniment.model import codec
from muniment.search import scope
from muniment.search.query import KINDS, Query, teach
from muniment.search.texts import Texts
from muniment.search.touched import touching
from muniment.secrets import Redactor
from muniment.store import terms
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.terms import Term

PORTION = 2000
_BATCH = 200
_AROUND = 70
_AUX_WEIGHT = 0.5
"""A part of a name counts half as much as a word."""
_NAMES = {stored: name for name, stored in KINDS.items()}


class Hit(Struct, frozen=True):
    """A block that has what was looked for."""

    session_id: str
    source: str
    title: str
    round: int
    """Of the session, or of the subagent if `sidechain` is given."""
    started: str | None
    """Of the round."""
    kind: str
    tool: str | None
    sidechain: str | None
    snippet: str
    marks: tuple[tuple[int, int], ...]
    """What to highlight in the snippet."""
    score: float
    opens: int
    """The round of the session to open: for a subagent the one during which it began."""


def search(layout: Layout, query: Query) -> list[Hit]:
    """The best hits. Raises NotFound if there is nothing to look for."""
    terms_ = asked(query)
    with Index(layout) as index:
        teach(index)
        return hits(layout, index, query, terms_, touching(layout, index, query), Redactor.off())


def asked(query: Query) -> list[Term]:
    """The terms of a query that must have some."""
    found = terms.parse(query.text)
    if not found:
        raise NotFound("nothing to search for", "give a word: letters or digits")
    return found


def hits(
    layout: Layout,
    index: Index,
    query: Query,
    asked: Sequence[Term],
    sessions: Sequence[str] | None,
    redactor: Redactor,
) -> list[Hit]:
    """The best hits of an open index, in these sessions or in all; found with their secrets, shown without."""
    compared = terms.needs_comparing(asked)
    highlight = terms.pattern(asked)
    known = Texts(layout, index)
    once = _Once(known)
    found: list[Hit] = []
    for row, score in _rows(index, query, terms.expression(asked), sessions):
        text = known.of(row)
        if compared and text is not None and not terms.holds(text, compared):
            continue
        whole = text
        if redactor.active:
            text = known.redacted(row, redactor)
        hit = _hit(redactor.record(row), score, *_snippet(text or "", highlight))
        if (copied := once.copied_at(row, whole, len(found))) is None:
            found.append(hit)
        elif row.sidechain is None:
            found[copied] = hit
        if len(found) == query.limit:
            break
    return found


class _Once:
    """Which hits are copies: a subagent that sums up a session begins with all that was said in it."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self.known: dict[tuple[int, str, str], tuple[int, Row]] = {}

    def copied_at(self, row: Row, text: str | None, position: int) -> int | None:
        """Return the position of the hit that has the same words of the same time in another part of the session."""
        if text is None:
            return None
        at, other = self.known.setdefault((row.session, row.kind, text), (position, row))
        if other.sidechain == row.sidechain:
            return None
        time = self.texts.time_of(row)
        return at if time and time == self.texts.time_of(other) else None


# -- ranking

_RANKED = """SELECT texts_fts.rowid, bm25(texts_fts, 1.0, {weight}) FROM texts_fts {join}
WHERE texts_fts MATCH ? AND texts_fts.rowid < ? AND {where} ORDER BY texts_fts.rowid DESC LIMIT ?"""
_JOIN = "CROSS JOIN texts t ON t.id = texts_fts.rowid"


def _ranked(index: Index, query: Query, expression: str, sessions: Sequence[str] | None) -> Iterator[tuple[int, float]]:
    """Rows that match and their scores, best first in each portion."""
    narrowed = scope.narrow(index, query, sessions)
    join, where, values = (_JOIN, narrowed.sql, narrowed.values) if narrowed else ("", "1", ())
    sql = _RANKED.format(weight=_AUX_WEIGHT, join=join, where=where)
    below, size = 1 << 62, max(PORTION, query.limit)
    while rows := index.rows(sql, expression, below, *values, size):
        yield from sorted(rows, key=itemgetter(1))
        if len(rows) < size:
            return
        below, size = rows[-1][0], size * 4


_DETAILS = f"""SELECT t.id, s.session_id, s.agent_id, s.source, s.title, t.session, t.round, t.kind, t.tool,
  t.sidechain, t.offset, coalesce(r.started, s.started), r.round
FROM texts t JOIN sessions s ON s.id = t.session
  LEFT JOIN sidechains c ON c.session = t.session AND c.id = t.sidechain
  LEFT JOIN rounds r ON r.session_id = s.session_id
    AND r.round = CASE WHEN t.sidechain IS NULL THEN t.round ELSE {scope.MAIN_ROUND} END
WHERE t.id IN (SELECT value FROM json_each(?))"""


class Row(Struct, frozen=True):
    """A block in the index."""

    id: int
    session_id: str
    agent_id: str
    source: str
    title: str
    session: int
    round: int
    kind: str
    tool: str | None
    sidechain: str | None
    offset: int
    started: str | None
    opens: int | None


def _rows(index: Index, query: Query, expression: str, sessions: Sequence[str] | None) -> Iterator[tuple[Row, float]]:
    """Blocks, best first, as many as are taken. One that was written anew has left its old words behind: no row."""
    ranked = _ranked(index, query, expression, sessions)
    batch = max(query.limit, 20)
    while scores := dict(islice(ranked, batch)):
        details = _details(index, scores)
        yield from ((details[id_], score) for id_, score in scores.items() if id_ in details)
        batch = _BATCH


def _details(index: Index, ids: Iterable[int]) -> dict[int, Row]:
    wanted = codec.encode(list(ids)).decode()
    return {row[0]: Row(*row) for row in index.rows(_DETAILS, wanted)}


# -- hits


def _hit(row: Row, score: float, snippet: str, marks: tuple[tuple[int, int], ...]) -> Hit:
    return Hit(
        row.session_id,
        row.source,
        row.title,
        row.round,
        row.started,
        _NAMES.get(row.kind, row.kind),
        row.tool,
        row.sidechain,
        snippet,
        marks,
        -score,
        row.opens or row.round,
    )


def _snippet(text: str, highlight: Any) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The words around the first thing found, on one line."""
    first = highlight.search(text)
    start = max(0, first.start() - _AROUND) if first else 0
    end = min(len(text), (first.end() if first else 0) + _AROUND * 2)
    shown = " ".join(text[start:end].split())
    shown = ("…" if start else "") + shown + ("…" if end < len(text) else "")
    return shown, tuple(match.span() for match in highlight.finditer(shown) if match.end() > match.start())
