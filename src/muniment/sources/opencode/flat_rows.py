"""A session of version 2 in the database: a row for every record.

Sessions of version 1 are carried over into these tables once, and the old rows stay. What version 1 said in such a
session later stands behind what version 2 did; old rows are also kept beside the document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from muniment.model import codec
from muniment.sources.opencode import part_rows
from muniment.sources.opencode.rows import LEAST, beside, info, joined, of_session, plain, tables
from muniment.sources.opencode.snapshot import Snapshot

TABLE: str = "session_v2"
TABLES = frozenset({TABLE, "session_message"})

_SIZES = f"""
    SELECT session_id, count(*), sum(octet_length(data) + octet_length(id) + octet_length(type)), max(time_updated),
        min({plain("data", "id", "type")})
    FROM session_message GROUP BY session_id"""
_LAST = "SELECT max(time_created) FROM session_message WHERE session_id = ?"
_LATER = """
    SELECT session_id, max(time_updated) FROM message
    WHERE session_id IN (SELECT id FROM session_v2) AND time_created > ifnull(
        (SELECT max(time_created) FROM session_message WHERE session_id = message.session_id), -1)
    GROUP BY session_id"""


def measured(db: Snapshot, wanted: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Each of these sessions with the size of its document, and when it changed."""
    records = {row[0]: row[1:] for row in db.rows(_SIZES)}
    later: dict[str, int] = dict(db.rows(_LATER)) if _has_old(db) else {}
    for native in wanted:
        count, held, updated, as_it_is = records.get(native, (0, 0, 0, 1))
        changed = max(updated or 0, later.get(native) or 0, of_session(db, TABLE, native).get("time_updated") or 0)
        if as_it_is and native not in later:
            each = len(_record("", "", LEAST)) - len(LEAST)
            size = len(_head(db, native)) + len(b"]}\n") + held + count * each + max(0, count - 1)
        else:  # it must be made to know its size
            size = sum(map(len, document(db, native)))
        yield native, size, changed


def _has_old(db: Snapshot) -> bool:
    return set(tables(db)) >= part_rows.TABLES


def document(db: Snapshot, native: str) -> Iterator[bytes]:
    """The session, one record to a line."""
    yield _head(db, native)
    query = "SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq, id"
    records = (_record(own, kind, data) for own, kind, data in db.rows(query, native))
    ((last,),) = db.rows(_LAST, native)
    later = part_rows.lines(db, native, -1 if last is None else last) if _has_old(db) else ()
    for number, line in enumerate(chain(records, later)):
        yield b"," + line if number else line
    yield b"]}\n"


def _head(db: Snapshot, native: str) -> bytes:
    """As version 2 exports it, and its version and name."""
    told = info(of_session(db, TABLE, native))
    place = {name: told.pop(name) for name in ("directory", "workspaceID") if name in told}
    below = {"subpath": path} if (path := told.pop("path", None)) else {}
    return b'{"info":' + codec.encode(told | {"location": place} | below) + b',"messages":[\n'


def _record(own: str, kind: str, data: Any) -> bytes:
    return joined({"id": own, "type": kind}, data) + b"\n"


def rest(db: Snapshot, native: str) -> Iterator[bytes]:
    """Every row about the session that is no record, as it is, those of version 1 among them."""
    yield from beside(db, TABLE, native, frozenset({"session_message"}))
    if _has_old(db) and (old := of_session(db, part_rows.TABLE, native)):
        yield codec.encode({"table": part_rows.TABLE, "row": old}) + b"\n"
