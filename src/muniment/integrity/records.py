"""Whether the files of the archive that belong to no session are what they were.

The records of people and of extraction (`edits.jsonl`, `engagements.jsonl`) have a checksum in each line. The roster
may be written by hand and by other programs: of that, only what cannot be read shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec

from muniment import files
from muniment.errors import MunimentError
from muniment.model import Problem, codec
from muniment.model.engagements import Ingested
from muniment.store import edits, engagements, listings, schema, sealed
from muniment.store.edits import Edit
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.rows import RoundRow, fit
from muniment.store.session_table import Listed


def check_records(layout: Layout) -> Iterator[Problem]:
    """What is wrong with the records and the roster; quick enough for every diagnosis."""
    yield from _check_edits(layout)
    yield from _check_lines(layout.engagements, Ingested)
    yield from _check_lines(layout.roster, None)


def _check_edits(layout: Layout) -> Iterator[Problem]:
    yield from _check_lines(layout.edits, Edit)
    yield from _check_size(layout)


def _check_lines(path: Path, shape: type[Any] | None) -> Iterator[Problem]:
    at = 0
    try:
        data = files.read_regular(path)
    except FileNotFoundError:
        return
    except OSError as error:
        yield Problem(str(path), 0, f"it cannot be read: {error.strerror}")
        return
    for line in data.split(b"\n"):
        if line.strip() and not _is_whole(line, shape):
            yield Problem(str(path), at, "the line is damaged", len(line))
        at += len(line) + 1


def _is_whole(line: bytes, shape: type[Any] | None) -> bool:
    try:
        if shape is None:
            return isinstance(codec.loads(line), dict)
        codec.decode(line, shape)
        known = {field.encode_name for field in msgspec.structs.fields(shape)} | {sealed.NAME}
        return not sealed.is_broken(line) and (sealed.is_sealed(line) or codec.loads(line).keys() <= known)
    except (msgspec.MsgspecError, ValueError):
        return False


def _check_size(layout: Layout) -> Iterator[Problem]:
    """A file that only grows must not be shorter than the index saw it."""
    try:
        with Index(layout) as known:
            (size,) = (known.rows("SELECT size FROM grown WHERE name = ?", layout.edits.name) or [(0,)])[0]
    except MunimentError:
        return  # the index itself is told of elsewhere
    try:
        there = layout.edits.stat().st_size
    except OSError:
        there = 0
    if there < size:
        yield Problem(str(layout.edits), there, f"it was cut off: it had {size:,} bytes", size - there)


# -- the index, and what is made from it


def check_index(layout: Layout) -> Iterator[Problem]:
    """What is wrong with the index, the listings made from it, and what it knows of the records."""
    try:
        with Index(layout) as known:
            known.db.execute("BEGIN")  # all of it in one state, whoever writes meanwhile
            if wrong := next(_find_damage(known), None):
                yield Problem(str(layout.database), 0, f"the index is damaged: {wrong}; {_MEND}")
                return
            rows = list(known.sessions())
            understood = {id_ for (id_,) in known.rows("SELECT session_id FROM main.ingested")}
            tags = known.rows("SELECT session_id, tag FROM tags ORDER BY session_id, tag")
    except (MunimentError, msgspec.MsgspecError, ValueError, TypeError) as error:
        yield Problem(str(layout.database), 0, f"the index cannot be read: {error}")
        return
    ids = {row.session_id for row in rows}
    yield from _check_understood(layout, understood, ids)
    yield from _check_tags(layout, tags, ids)
    yield from _check_listings(layout, rows)


_MEND = "`muniment reindex` mends it"


def _check_tags(layout: Layout, there: list[tuple[Any, ...]], ids: set[str]) -> Iterator[Problem]:
    """Compare the tags of sessions with what people decided. Where that is damaged, the index may know more of it, and
    must not be made anew."""
    given = sorted({(id_, fit(tag)) for id_ in ids for tag in edits.tags(layout, id_)})
    if there != given and not any(_check_edits(layout)):
        yield Problem(str(layout.database), 0, f"its tags of sessions are not those that people gave; {_MEND}")


def _check_understood(layout: Layout, understood: set[str], ids: set[str]) -> Iterator[Problem]:
    """Compare what the index says was understood with the records, if they can be read."""
    if files.is_irregular(layout.engagements):
        return  # which is told already
    recorded = {record.session_id for record in engagements.load(layout)}
    if lost := understood - recorded:
        yield Problem(str(layout.engagements), 0, f"what was understood of {len(lost):,} sessions is missing")
    if lost := (recorded & ids) - understood:
        what = f"the index does not know what was understood of {len(lost):,} sessions; {_MEND}"
        yield Problem(str(layout.database), 0, what)


def _find_damage(known: Index) -> Iterator[str]:
    """Find what SQLite and its full text can tell of damage by themselves."""
    yield from (text for (text,) in known.rows("PRAGMA integrity_check(5)") if text != "ok")
    for table in ("rounds", "texts", "engagements"):
        if known.rows(f"SELECT 1 FROM {table} WHERE rowid NOT IN (SELECT id FROM {table}_fts_docsize) LIMIT 1"):
            yield f"the full text lacks rows of {table}"
    yield from _check_words_of_rounds(known)


def _check_words_of_rounds(known: Index) -> Iterator[str]:
    """Compare the full text of rounds with their rows.

    Only a full text that can be written to does so. So a copy in memory does it: whoever inscribes has the index to
    himself for as long as that takes. (The full text of `texts` keeps no words that it could be compared with: there
    SQLite looks at its structure alone.)"""
    db: Any = apsw.Connection(":memory:")
    db.execute(schema.ROUNDS)
    try:
        for table, columns in _ROUNDS.items():
            db.execute(f"DELETE FROM {table}")
            marks = ",".join("?" * len(columns))
            rows = known.rows(f"SELECT {', '.join(columns)} FROM {table}")
            db.executemany(f"INSERT INTO {table}({', '.join(columns)}) VALUES ({marks})", rows)
        db.execute("INSERT INTO rounds_fts(rounds_fts, rank) VALUES ('integrity-check', 1)")
    except apsw.Error as error:
        yield f"the full text of rounds is another: {error}"
    finally:
        db.close()


_ROUNDS = {
    "rounds": ("rowid", *RoundRow._fields),
    "rounds_fts_data": ("id", "block"),
    "rounds_fts_idx": ("segid", "term", "pgno"),
    "rounds_fts_docsize": ("id", "sz"),
    "rounds_fts_config": ("k", "v"),
}
"""The tables of rounds and those that SQLite makes for their full text."""


def _check_listings(layout: Layout, rows: Iterable[Listed]) -> Iterator[Problem]:
    wanted = dict(listings.archive_listings(layout, rows))
    if layout.engagements.exists() and not files.is_irregular(layout.engagements):
        wanted[layout.engagements_listing] = engagements.listing(engagements.load(layout))
    for path, data in wanted.items():
        try:
            same = files.read_regular(path) == data
        except OSError:
            same = False
        if not same:
            yield Problem(str(path), 0, "the listing differs from the index; `muniment reindex` writes it anew")
