"""A session of version 2 in the database: a row for every record.

Sessions of version 1 are carried over into these tables once, and the old rows stay. What version 1 said in such a
session later stands behind what version 2 did; old rows are also kept beside the document.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from muniment.model import codec
from muniment.sources.databases import Guarded
from muniment.sources.opencode import part_rows
from muniment.sources.opencode.rows import LEAST, a_time, beside, info, is_object, joined, latest, of_session, plain

TABLE: str = "session_v2"
TABLES = {
    TABLE: ("id", "time_created", "time_updated"),
    "session_message": ("id", "session_id", "type", "seq", "time_created", "time_updated", "data"),
}
"""What is asked for: tables, and columns that must be stored there."""

_SIZES = f"""
    SELECT session_id, count(*), sum(octet_length(data) + octet_length(id) + octet_length(type)),
        {latest("time_updated")}, min({plain("data", "id", "type")})
    FROM session_message GROUP BY session_id"""
_LAST = "SELECT max(time_created) FROM session_message WHERE session_id = ?"
_LATER = """
    SELECT session_id, max(time_updated) FROM message
    WHERE session_id IN (SELECT id FROM session_v2) AND time_created > ifnull(
        (SELECT max(time_created) FROM session_message WHERE session_id = message.session_id), -1)
    GROUP BY session_id"""

Sizes = tuple[dict[Any, tuple[Any, ...]], dict[Any, Any]]
"""Of the records of every session, and when version 1 said something later."""


def sizes(db: Guarded) -> Sizes:
    """What tells the sizes of all documents without making them."""
    later: dict[Any, Any] = dict(db.rows(_LATER)) if _has_old(db) else {}  # pyright: ignore[reportArgumentType]
    return {row[0]: row[1:] for row in db.each(_SIZES)}, later


def measured(db: Guarded, native: str, known: Sizes) -> tuple[int | None, int]:
    """The size of a session's document, None if it must be made to know it; and when it changed."""
    count, held, updated, as_it_is = known[0].get(native, (0, 0, 0, 1))
    times = (updated, known[1].get(native), of_session(db, TABLE, native).get("time_updated"))
    changed = max(a_time(time) for time in times)
    if not as_it_is or native in known[1]:
        return None, changed
    each = len(_record("", "", LEAST, True)) - len(LEAST)
    return len(_head(db, native)) + len(b"]}\n") + held + count * each + max(0, count - 1), changed


def _has_old(db: Guarded) -> bool:
    return db.columns().keys() >= part_rows.TABLES.keys()


def document(db: Guarded, native: str) -> Iterator[bytes]:
    """The session, one record to a line."""
    yield _head(db, native)
    query = "FROM session_message WHERE session_id = ? ORDER BY seq, id"
    records = (_record(*row) for row in db.values(("id", "type", "data", is_object("data")), query, native))
    ((last,),) = db.rows(_LAST, native)
    later = part_rows.lines(db, native, -1 if last is None else last) if _has_old(db) else ()
    for number, line in enumerate(chain(records, later)):
        yield b"," + line if number else line
    yield b"]}\n"


def _head(db: Guarded, native: str) -> bytes:
    """As version 2 exports it, and its version and name."""
    told = info(of_session(db, TABLE, native))
    place = {name: told.pop(name) for name in ("directory", "workspaceID") if name in told}
    below = {"subpath": path} if (path := told.pop("path", None)) else {}
    return b'{"info":' + codec.encode(told | {"location": place} | below) + b',"messages":[\n'


def _record(own: Any, kind: Any, data: Any, is_object: Any) -> bytes:
    return joined({"id": own, "type": kind}, data, is_object) + b"\n"


def rest(db: Guarded, native: str) -> Iterator[bytes]:
    """Every row about the session that is no record, as it is, those of version 1 among them."""
    yield from beside(db, TABLE, native, frozenset({"session_message"}))
    if _has_old(db) and (old := of_session(db, part_rows.TABLE, native)):
        yield codec.encode({"table": part_rows.TABLE, "row": old}) + b"\n"
