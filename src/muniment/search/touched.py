"""Which sessions touched a file: those in which the input of a tool names it, in the session itself or a subagent.

A file is asked for by its whole path, the end of it, or its name; a path that ends in `/` is a folder and everything in
it. A whole path is also met where a session names it relative to its own folder. The index knows words only, so what
it finds is compared with the path as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct, structs

from muniment.errors import NotFound
from muniment.model import Tool, codec
from muniment.search import scope
from muniment.search.query import Query, teach
from muniment.search.texts import Texts
from muniment.store import terms
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.rows import input_text
from muniment.store.terms import Term

_BEFORE, _BEFORE_WHOLE = r"(?<![\w.-])", r"(?<![\w./~-])"
_BEHIND = r"(?![\w-])(?!\.\w)"


class Touched(Struct, frozen=True):
    """A session that touched a file, and in which of its rounds."""

    session_id: str
    source: str
    title: str
    agent_name: str | None
    started: str | None
    changed: tuple[int, ...]
    """Rounds with a call that writes to the file, itself or by a subagent that began then."""
    named: tuple[int, ...]
    """Rounds with another call that names it: reading, listing, running."""

    @property
    def rounds(self) -> frozenset[int]:
        return frozenset(self.changed + self.named)


class _Call(Struct, frozen=True):
    """A tool call that may name the file; a row of `texts`."""

    id: int
    session_id: str
    agent_id: str
    session: int
    round: int
    kind: str
    sidechain: str | None
    offset: int
    opens: int
    cwd: str | None


def find_touched(layout: Layout, query: Query) -> list[Touched]:
    """Sessions that touched `query.file`, the latest first."""
    with Index(layout) as index:
        teach(index)
        return touched(layout, index, query)


def touching(layout: Layout, index: Index, query: Query) -> list[str] | None:
    """The ids of the sessions that touched the file of a query; None if it asks for none."""
    return None if query.file is None else [found.session_id for found in touched(layout, index, query)]


def touched(layout: Layout, index: Index, query: Query) -> list[Touched]:
    """The same of an open index, all of them."""
    known = Texts(layout, index)
    changed: dict[str, set[int]] = {}
    named: dict[str, set[int]] = {}
    tests: dict[str | None, Callable[[str], bool]] = {}
    for call in _calls(index, query):
        names = tests.setdefault(call.cwd, _test(query.file or "", call.cwd))
        for tool in known.tools(call):
            if names(input_text(tool)):
                told = changed if _writes(tool, names) else named
                told.setdefault(call.session_id, set()).add(call.opens)
    return [_touched(row, changed, named) for row in _sessions(index, {*changed, *named})]


_CALLS = f"""SELECT t.id, s.session_id, s.agent_id, t.session, t.round, t.kind, t.sidechain, t.offset,
  CASE WHEN t.sidechain IS NULL THEN t.round ELSE {scope.MAIN_ROUND} END, s.cwd
FROM texts_fts CROSS JOIN texts t ON t.id = texts_fts.rowid JOIN sessions s ON s.id = t.session
  LEFT JOIN sidechains c ON c.session = t.session AND c.id = t.sidechain
WHERE texts_fts MATCH ? AND t.kind = 'tool' AND {{where}} ORDER BY t.session, t.sidechain, t.round, t.id"""


def _calls(index: Index, query: Query) -> Iterator[_Call]:
    """Calls whose input has the words of the file's name."""
    narrowed = scope.narrow(index, structs.replace(query, kinds=()), None)
    where, values = (narrowed.sql, narrowed.values) if narrowed else ("1", ())
    words = terms.expression([_words(query.file or "")])
    for row in index.rows(_CALLS.format(where=where), words, *values):
        yield _Call(*row)


def _words(path: str) -> Term:
    """What of a path the index is asked for: all of it, or only the name if it may stand there relative."""
    whole = path.rstrip("/").replace('"', " ")
    asked = terms.parse(f'"{whole.rpartition("/")[2] if whole.startswith("/") else whole}"')
    if not asked:
        raise NotFound(f"{path!r} names no file", "give a path or a name: src/login.ts")
    return asked[0]


def _test(path: str, cwd: str | None) -> Callable[[str], bool]:
    """Whether words name the path, seen from a folder."""
    behind = "/" if path.endswith("/") else _BEHIND
    whole = path.rstrip("/").removeprefix("./")
    ways = [(_BEFORE_WHOLE if whole.startswith("/") else _BEFORE) + re.escape(whole)]
    if cwd and whole.startswith(cwd.rstrip("/") + "/"):
        ways.append(rf"{_BEFORE_WHOLE}(?:\./)?" + re.escape(whole[len(cwd.rstrip("/")) + 1 :]))
    pattern = re.compile(f"(?:{'|'.join(ways)}){behind}")
    return lambda words: pattern.search(words) is not None


def _writes(tool: Tool, names: Callable[[str], bool]) -> bool:
    """Whether the call writes to the file, rather than to another whose text mentions it."""
    from muniment.ingest.skeleton import act

    done = act(tool)
    return done.writes and any(names(path) for path in done.paths)


_SESSIONS = """SELECT s.session_id, s.source, s.title, i.agent_name, s.started
FROM sessions s LEFT JOIN ingested i ON i.session_id = s.session_id
WHERE s.session_id IN (SELECT value FROM json_each(?)) ORDER BY s.ended DESC, s.session_id"""


def _sessions(index: Index, ids: set[str]) -> list[tuple[str, str, str, str | None, str | None]]:
    return [
        (row[0], row[1], row[2], row[3], row[4]) for row in index.rows(_SESSIONS, codec.encode(sorted(ids)).decode())
    ]


def _touched(
    row: tuple[str, str, str, str | None, str | None], changed: dict[str, set[int]], named: dict[str, set[int]]
) -> Touched:
    rounds = [tuple(sorted(told.get(row[0], ()))) for told in (changed, named)]
    return Touched(*row, *rounds)
