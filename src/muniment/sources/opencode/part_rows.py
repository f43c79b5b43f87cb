"""A session of version 1 in the database: a row for every message, and one for every part of a message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muniment.model import codec
from muniment.sources.databases import Guarded
from muniment.sources.opencode.rows import LEAST, a_time, beside, info, is_object, joined, latest, of_session, plain

TABLE: str = "session"
TABLES = {
    TABLE: ("id", "time_created", "time_updated"),
    "message": ("id", "session_id", "time_created", "time_updated", "data"),
    "part": ("id", "message_id", "time_updated", "data"),
}
"""What is asked for: tables, and columns that must be stored there."""

_SIZES = f"""
    SELECT session_id, count(*), sum(octet_length(data) + octet_length(id)), {latest("time_updated")},
        min({plain("data", "id")}) AND count(*) = count(DISTINCT id)
    FROM message GROUP BY session_id"""
_PART_SIZES = f"""
    SELECT message.session_id, count(*),
        sum(octet_length(part.data) + octet_length(part.id) + octet_length(message.id)), {latest("part.time_updated")},
        min({plain("part.data", "part.id")}), count(DISTINCT message.id)
    FROM part JOIN message ON message.id = part.message_id GROUP BY message.session_id"""

_COLUMNS = ("id", "data", is_object("data"))

Sizes = tuple[dict[Any, tuple[Any, ...]], dict[Any, tuple[Any, ...]]]
"""Of the messages of every session, and of their parts."""


def sizes(db: Guarded) -> Sizes:
    """What tells the sizes of all documents without making them."""
    return {row[0]: row[1:] for row in db.each(_SIZES)}, {row[0]: row[1:] for row in db.each(_PART_SIZES)}


def measured(db: Guarded, native: str, known: Sizes) -> tuple[int | None, int]:
    """The size of a session's document, None if it must be made to know it; and when it changed."""
    own, inner = known[0].get(native, (0, 0, 0, 1)), known[1].get(native, (0, 0, 0, 1, 0))
    changed = max(a_time(time) for time in (own[2], inner[2], of_session(db, TABLE, native).get("time_updated")))
    return _size(db, native, own, inner) if own[3] and inner[3] else None, changed


def _size(db: Guarded, native: str, own: tuple[Any, ...], inner: tuple[Any, ...]) -> int:
    """The size of a document, from the sizes of its rows."""
    count, held, *_ = own
    parts, held_in_parts, *_, with_parts = inner
    size = len(_head(db, native)) + len(b"]}\n") + held + held_in_parts
    size += count * (len(_message("", native, LEAST, True, [])) - len(LEAST) + len("\n"))
    size += parts * (len(_part("", native, "", LEAST, True)) - len(LEAST))
    return size + max(0, count - 1) + parts - with_parts  # commas


def document(db: Guarded, native: str) -> Iterator[bytes]:
    """The session, one message to a line."""
    yield _head(db, native)
    for number, line in enumerate(lines(db, native)):
        yield b"," + line if number else line
    yield b"]}\n"


def _head(db: Guarded, native: str) -> bytes:
    return b'{"info":' + codec.encode(info(of_session(db, TABLE, native))) + b',"messages":[\n'


def lines(db: Guarded, native: str, after: Any = None) -> Iterator[bytes]:
    """The messages of a session, or those that came after a time."""
    later = "" if after is None else "AND time_created > ?"
    query = f"FROM message WHERE session_id = ? {later} ORDER BY time_created, id"
    for own, data, is_one in db.values(_COLUMNS, query, native, *(() if after is None else (after,))):
        said = db.values(_COLUMNS, "FROM part WHERE message_id = ? ORDER BY id", _asked(own))
        parts = [_part(part, native, own, *held) for part, *held in said]
        yield _message(own, native, data, is_one, parts) + b"\n"


def _asked(own: Any) -> Any:
    """An id as it can be asked for; one that is no text has no parts."""
    return own.encode("utf-8", "replace").decode() if isinstance(own, str) else own


def _message(own: Any, session: str, data: Any, is_object: Any, parts: list[bytes]) -> bytes:
    told = joined({"id": own, "sessionID": session}, data, is_object)
    return b'{"info":' + told + b',"parts":[' + b",".join(parts) + b"]}"


def _part(own: Any, session: str, message: Any, data: Any, is_object: Any) -> bytes:
    return joined({"id": own, "sessionID": session, "messageID": message}, data, is_object)


def rest(db: Guarded, native: str) -> Iterator[bytes]:
    """Every row about the session that is neither message nor part, as it is."""
    return beside(db, TABLE, native, frozenset(TABLES))
