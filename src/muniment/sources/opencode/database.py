"""Sessions in opencode's database, each as the document that `opencode export` would give.

A session's rows become one document, always the same for the same rows. Its bytes are the evidence, and a restore
gives that document back, which `opencode import` takes; the database itself is never written. Rows that have no place
in the document (the session's own as it is, its tasks) go into a second file beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from muniment.model import codec
from muniment.sources.base import SourceFile
from muniment.sources.opencode.records import identity
from muniment.sources.opencode.snapshot import Snapshot, consistently

MAGIC = b"SQLite format 3\0"
ROWS = ".rows.jsonl"
"""Ends the name of the file with what the document has no place for."""

_NAMED = re.compile(r"(.*\.db)(-wal)?")
_PLACE = re.compile(r"(.*\.db)#(.*)#[0-9a-f-]{36}", re.DOTALL)
_TABLES = frozenset({"session", "message", "part"})
_JSON = ("revert", "permission", "model", "metadata")
_TOKENS = ("input", "output", "reasoning")
_LEAST = '{"'
"""How every plain row begins."""

_PLAIN = "substr({0}.data, 1, 2) = '{{\"' AND {0}.id NOT GLOB '*[^0-9A-Za-z_-]*'"
_SIZES = f"""
    SELECT session_id, count(*), sum(octet_length(data) + octet_length(id)), max(time_updated),
        min({_PLAIN.format("message")})
    FROM message GROUP BY session_id"""
_PART_SIZES = f"""
    SELECT message.session_id, count(*),
        sum(octet_length(part.data) + octet_length(part.id) + octet_length(message.id)), max(part.time_updated),
        min({_PLAIN.format("part")}), count(DISTINCT message.id)
    FROM part JOIN message ON message.id = part.message_id GROUP BY message.session_id"""


def of(path: Path) -> Path | None:
    """The database that a file is, or is the log of, by its name."""
    named = _NAMED.fullmatch(str(path))
    return Path(named[1]) if named else None


def is_ours(path: Path) -> bool:
    """Whether a database has opencode's tables."""
    try:
        return consistently(path, lambda db: set(_tables(db)) >= _TABLES)
    except (apsw.Error, OSError):
        return False


def sessions(path: Path, folder: str) -> list[tuple[str, list[SourceFile]]]:
    """Every session with the files that are made of it; nothing if the database cannot be read."""
    try:
        return consistently(path, lambda db: list(_sessions(db, path, folder)))
    except (apsw.Error, OSError):
        return []


def holds(file: SourceFile) -> bool:
    """Whether a file is made of rows."""
    return bool(_PLACE.fullmatch(file.path))


def content(file: SourceFile) -> bytes:
    """The bytes of a file that is made of rows."""
    place = _PLACE.fullmatch(file.path)
    assert place, "asked for what lies in a database"
    native = place[2].removesuffix(ROWS)
    made = _rows if place[2].endswith(ROWS) else _document
    try:
        return consistently(Path(place[1]), lambda db: b"".join(made(db, native)))
    except apsw.Error as error:
        raise OSError(f"{place[1]}: {error}") from error


def _tables(db: Snapshot) -> list[str]:
    return [str(row[0]) for row in db.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]


# -- finding


def _sessions(db: Snapshot, path: Path, folder: str) -> Iterator[tuple[str, list[SourceFile]]]:
    messages = {row[0]: row[1:] for row in db.rows(_SIZES)}
    parts = {row[0]: row[1:] for row in db.rows(_PART_SIZES)}
    for (native,) in db.rows("SELECT id FROM session ORDER BY time_created, id"):
        own, inner = messages.get(native, (0, 0, 0, 1)), parts.get(native, (0, 0, 0, 1, 0))
        changed = max(own[2] or 0, inner[2] or 0, _row(db, native).get("time_updated") or 0) * 1_000_000
        present = [_file(path, folder, native, ".json", "main", _size(db, native, own, inner), changed)]
        beside = b"".join(_rows(db, native))
        present.append(_file(path, folder, native, ROWS, "side", len(beside), changed))
        yield native, present


def _file(path: Path, folder: str, native: str, end: str, role: Any, size: int, mtime: int) -> SourceFile:
    mark = f"{native}{ROWS}" if end == ROWS else native
    return SourceFile(f"{path}#{mark}#{identity(native)}", f"{folder}/{native}{end}", role, size, mtime)


def _size(db: Snapshot, native: str, own: tuple[Any, ...], inner: tuple[Any, ...]) -> int:
    """The size of a document, from the sizes of its rows; one with odd rows must be made to know it."""
    if not own[3] or not inner[3]:
        return sum(map(len, _document(db, native)))
    count, held, *_ = own
    parts, held_in_parts, *_, with_parts = inner
    size = sum(map(len, _document(db, native, ()))) + held + held_in_parts
    size += count * (len(_message("", native, _LEAST, [])) - len(_LEAST) + len("\n"))
    size += parts * (len(_part("", native, "", _LEAST)) - len(_LEAST))
    return size + max(0, count - 1) + parts - with_parts  # commas


# -- making


def _document(db: Snapshot, native: str, messages: Any = None) -> Iterator[bytes]:
    """The session, one message to a line."""
    yield b'{"info":' + codec.encode(_info(_row(db, native))) + b',"messages":[\n'
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    comma = b""
    for own, data in db.rows(query, native) if messages is None else messages:
        parts = db.rows("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", own)
        yield comma + _message(own, native, data, [_part(part, native, own, held) for part, held in parts]) + b"\n"
        comma = b","
    yield b"]}\n"


def _message(own: str, session: str, data: Any, parts: list[bytes]) -> bytes:
    info = _joined({"id": own, "sessionID": session}, data)
    return b'{"info":' + info + b',"parts":[' + b",".join(parts) + b"]}"


def _part(own: str, session: str, message: str, data: Any) -> bytes:
    return _joined({"id": own, "sessionID": session, "messageID": message}, data)


def _joined(ids: dict[str, str], data: Any) -> bytes:
    """The ids of a row and its content, which is kept as it was written; what is no object is a field of its own."""
    if isinstance(data, str) and data.startswith(_LEAST):
        return codec.encode(ids)[:-1] + b"," + data[1:].encode("utf-8", "surrogatepass").replace(b"\n", b" ")
    return codec.encode(ids | ({} if data == "{}" else {"data": _plain(data)}))


def _rows(db: Snapshot, native: str) -> Iterator[bytes]:
    """Every row about the session that is neither message nor part, as it is."""
    yield codec.encode({"table": "session", "row": _row(db, native)}) + b"\n"
    for table in _tables(db):
        columns = [str(row[1]) for row in db.rows(f'PRAGMA table_info("{table}")')]
        if "session_id" in columns and table not in _TABLES:
            for row in db.rows(f'SELECT * FROM "{table}" WHERE session_id = ?', native):
                told = {name: _plain(value) for name, value in zip(columns, row, strict=True)}
                yield codec.encode({"table": table, "row": told}) + b"\n"


def _row(db: Snapshot, native: str) -> dict[str, Any]:
    columns = [str(row[1]) for row in db.rows("PRAGMA table_info(session)")]
    found = db.rows("SELECT * FROM session WHERE id = ?", native)
    return {name: _plain(value) for row in found for name, value in zip(columns, row, strict=True)}


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _info(row: dict[str, Any]) -> dict[str, Any]:
    """The session's own row as an export tells it; columns that are empty are left out."""
    kept = {name: row.get(name) for name in ("id", "slug", "directory", "path", "title", "agent", "version", "cost")}
    for name, column in (("projectID", "project_id"), ("workspaceID", "workspace_id"), ("parentID", "parent_id")):
        kept[name] = row.get(column)
    kept |= {name: _parsed(row.get(name)) for name in _JSON}
    if row.get("summary_files") is not None:
        names = ("additions", "deletions", "files")
        kept["summary"] = {name: row.get(f"summary_{name}") for name in names}
    if row.get("tokens_input") is not None:
        cache = {name: row.get(f"tokens_cache_{name}") or 0 for name in ("read", "write")}
        kept["tokens"] = {name: row.get(f"tokens_{name}") or 0 for name in _TOKENS} | {"cache": cache}
    times = {name: row.get(f"time_{name}") for name in ("created", "updated", "compacting", "archived")}
    kept["time"] = {name: value for name, value in times.items() if value is not None}
    return {name: value for name, value in kept.items() if value is not None}


def _parsed(value: Any) -> Any:
    try:
        return codec.loads(value.encode()) if isinstance(value, str) else value
    except ValueError:
        return value
