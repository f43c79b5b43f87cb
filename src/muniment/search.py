"""Finding what was said: full text over every block of every session, best first, with the place to open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from muniment.errors import NotFound, StoreError
from muniment.store import rounds, terms
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.rows import fit, texts
from muniment.store.terms import Term

KINDS = {
    "user": "user",
    "assistant": "assistant",
    "thinking": "thinking",
    "tool-input": "tool",
    "tool-output": "result",
    "compaction": "compaction",
    "event": "event",
}
"""What can be searched in, by the name a person gives it."""

_AROUND = 70
_BATCH = 200
_AUX_WEIGHT = 0.5
"""A part of a name counts half as much as a word."""


class Query(Struct, frozen=True):
    """What to look for, and where."""

    text: str
    kinds: tuple[str, ...] = ()
    source: str | None = None
    session: str | None = None
    agent: str | None = None
    since: str | None = None
    """ISO date or time; of the round."""
    until: str | None = None
    limit: int = 20


class Hit(Struct, frozen=True):
    """A block that has what was looked for."""

    session_id: str
    source: str
    title: str
    round: int
    started: str | None
    """Of the round."""
    kind: str
    tool: str | None
    sidechain: str | None
    snippet: str
    marks: tuple[tuple[int, int], ...]
    """What to highlight in the snippet."""
    score: float


def search(layout: Layout, query: Query) -> list[Hit]:
    """The best hits. Raises NotFound if there is nothing to look for."""
    asked = terms.parse(query.text)
    if not asked:
        raise NotFound("nothing to search for", "give a word: letters or digits")
    with Index(layout) as index:
        return _hits(layout, index, query, asked)


def _hits(layout: Layout, index: Index, query: Query, asked: Sequence[Term]) -> list[Hit]:
    compared = terms.needs_comparing(asked)
    highlight = terms.pattern(asked)
    found: list[Hit] = []
    known = _Texts(layout)
    for row in _rows(index, query, terms.expression(asked)):
        text = known.of(row)
        if compared and not terms.holds(text, compared):
            continue
        found.append(_hit(row, *_snippet(text, highlight)))
        if len(found) == query.limit:
            break
    return found


_SELECT = """SELECT s.session_id, s.agent_id, s.source, s.title, t.round, r.started, t.kind, t.tool, t.sidechain,
  t.offset, bm25(texts_fts, 1.0, {weight}) AS score
FROM texts_fts JOIN texts t ON t.id = texts_fts.rowid JOIN sessions s ON s.id = t.session
  LEFT JOIN rounds r ON r.session_id = s.session_id AND r.round = t.round AND t.sidechain IS NULL
WHERE texts_fts MATCH ?{where} ORDER BY score LIMIT ? OFFSET ?"""


def _rows(index: Index, query: Query, expression: str) -> Iterator[tuple[Any, ...]]:
    """Rows from the index, best first, as many as are taken."""
    where, values = _conditions(query)
    sql = _SELECT.format(weight=_AUX_WEIGHT, where=where)
    start, batch = 0, max(query.limit, 20)
    while rows := index.rows(sql, expression, *values, batch, start):
        yield from rows
        start, batch = start + len(rows), _BATCH


def _conditions(query: Query) -> tuple[str, list[Any]]:
    said: list[tuple[str, Any]] = [
        ("s.source = ?", query.source),
        ("s.session_id LIKE ? || '%'", query.session),
        ("s.agent_id = ?", query.agent),
        ("coalesce(r.started, s.started) >= ?", query.since),
        ("coalesce(r.started, s.started) < ?", query.until),
    ]
    given = [(sql, fit(value)) for sql, value in said if value is not None]
    kinds = [KINDS[name] for name in query.kinds]
    if kinds:
        given.append((f"t.kind IN ({','.join('?' * len(kinds))})", None))
    where = "".join(f" AND {sql}" for sql, _ in given)
    return where, [value for _, value in given if value is not None] + kinds


class _Texts:
    """The texts of hits, from the round files; the round read last is kept."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.place: tuple[str, str | None, int] | None = None
        self.known: dict[tuple[str, int], str] = {}

    def of(self, row: tuple[Any, ...]) -> str:
        """The text of a row; empty if its round file is gone, which `doctor` tells."""
        session_id, agent_id, _, _, number, _, kind, _, sidechain, offset, _ = row
        if self.place != (session_id, sidechain, number):
            self.place, self.known = (session_id, sidechain, number), {}
            shelf = self.layout.shelf(agent_id, session_id)
            try:
                round_ = rounds.load(shelf.sidechain(sidechain) if sidechain else shelf, number)
            except (NotFound, StoreError):
                return ""
            self.known = {(kind, offset): text for kind, _, offset, text in texts(round_)}
        return self.known.get((kind, offset), "")


def _hit(row: tuple[Any, ...], snippet: str, marks: tuple[tuple[int, int], ...]) -> Hit:
    session_id, _, source, title, number, started, kind, tool, sidechain, _, score = row
    name = next((name for name, stored in KINDS.items() if stored == kind), kind)
    return Hit(session_id, source, title, number, started, name, tool, sidechain, snippet, marks, -score)


def _snippet(text: str, highlight: Any) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The words around the first thing found, on one line."""
    first = highlight.search(text)
    start = max(0, first.start() - _AROUND) if first else 0
    end = min(len(text), (first.end() if first else 0) + _AROUND * 2)
    shown = " ".join(text[start:end].split())
    shown = ("…" if start else "") + shown + ("…" if end < len(text) else "")
    return shown, tuple(match.span() for match in highlight.finditer(shown) if match.end() > match.start())
