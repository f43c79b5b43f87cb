"""A session of version 1 in the database: a row for every message, and one for every part of a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from muniment.model import codec
from muniment.sources.opencode.rows import LEAST, beside, info, joined, of_session, plain
from muniment.sources.opencode.snapshot import Snapshot

TABLE: str = "session"
TABLES = frozenset({TABLE, "message", "part"})

_SIZES = f"""
    SELECT session_id, count(*), sum(octet_length(data) + octet_length(id)), max(time_updated),
        min({plain("data", "id")})
    FROM message GROUP BY session_id"""
_PART_SIZES = f"""
    SELECT message.session_id, count(*),
        sum(octet_length(part.data) + octet_length(part.id) + octet_length(message.id)), max(part.time_updated),
        min({plain("part.data", "part.id")}), count(DISTINCT message.id)
    FROM part JOIN message ON message.id = part.message_id GROUP BY message.session_id"""


def measured(db: Snapshot, wanted: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Each of these sessions with the size of its document, and when it changed."""
    messages = {row[0]: row[1:] for row in db.rows(_SIZES)}
    parts = {row[0]: row[1:] for row in db.rows(_PART_SIZES)}
    for native in wanted:
        own, inner = messages.get(native, (0, 0, 0, 1)), parts.get(native, (0, 0, 0, 1, 0))
        changed = max(own[2] or 0, inner[2] or 0, of_session(db, TABLE, native).get("time_updated") or 0)
        yield native, _size(db, native, own, inner), changed


def _size(db: Snapshot, native: str, own: tuple[Any, ...], inner: tuple[Any, ...]) -> int:
    """The size of a document, from the sizes of its rows; one with odd rows must be made to know it."""
    if not own[3] or not inner[3]:
        return sum(map(len, document(db, native)))
    count, held, *_ = own
    parts, held_in_parts, *_, with_parts = inner
    size = len(_head(db, native)) + len(b"]}\n") + held + held_in_parts
    size += count * (len(_message("", native, LEAST, [])) - len(LEAST) + len("\n"))
    size += parts * (len(_part("", native, "", LEAST)) - len(LEAST))
    return size + max(0, count - 1) + parts - with_parts  # commas


def document(db: Snapshot, native: str) -> Iterator[bytes]:
    """The session, one message to a line."""
    yield _head(db, native)
    for number, line in enumerate(lines(db, native)):
        yield b"," + line if number else line
    yield b"]}\n"


def _head(db: Snapshot, native: str) -> bytes:
    return b'{"info":' + codec.encode(info(of_session(db, TABLE, native))) + b',"messages":[\n'


def lines(db: Snapshot, native: str, after: int | None = None) -> Iterator[bytes]:
    """The messages of a session, or those that came after a time."""
    later = "" if after is None else f"AND time_created > {after:d}"
    query = f"SELECT id, data FROM message WHERE session_id = ? {later} ORDER BY time_created, id"
    for own, data in db.rows(query, native):
        parts = db.rows("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", own)
        yield _message(own, native, data, [_part(part, native, own, held) for part, held in parts]) + b"\n"


def _message(own: str, session: str, data: Any, parts: list[bytes]) -> bytes:
    told = joined({"id": own, "sessionID": session}, data)
    return b'{"info":' + told + b',"parts":[' + b",".join(parts) + b"]}"


def _part(own: str, session: str, message: str, data: Any) -> bytes:
    return joined({"id": own, "sessionID": session, "messageID": message}, data)


def rest(db: Snapshot, native: str) -> Iterator[bytes]:
    """Every row about the session that is neither message nor part, as it is."""
    return beside(db, TABLE, native, TABLES)
