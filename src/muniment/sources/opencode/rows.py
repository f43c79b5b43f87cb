"""Rows of opencode's database as JSON: what its tables of any version have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muniment.model import codec
from muniment.sources.databases import Guarded, quoted
from muniment.sources.opencode.records import HELD

LEAST = '{"'
"""How every plain row begins."""

MAX_TIME = 1 << 43
"""Milliseconds: the year 2248."""

_JSON = ("revert", "permission", "model", "metadata")
_TOKENS = ("input", "output", "reasoning")


def plain(data: str, *ids: str) -> str:
    """The question whether a row's content and ids are the same in JSON, so that their sizes tell that of its line."""
    named = (f"typeof({id_}) = 'text' AND {id_} NOT GLOB '*[^0-9A-Za-z_-]*'" for id_ in ids)
    return " AND ".join([is_object(data), *named])


def is_object(data: str) -> str:
    """Return the question whether a row's content is a JSON object that has something in it.

    Only SQLite answers it, here and for the sizes: two parsers do not agree about every odd text, and a document would
    not have the size that it was said to have."""
    return f"(typeof({data}) = 'text' AND substr({data}, 1, 2) = '{LEAST}' AND json_valid({data}))"


def latest(column: str) -> str:
    """The question for the latest of times, of which some may be no numbers."""
    return f"max(CASE WHEN typeof({column}) = 'integer' THEN {column} END)"


def a_time(value: Any) -> int:
    """A time in milliseconds; nothing where the column holds something else."""
    return value if isinstance(value, int) and 0 <= value < MAX_TIME else 0


def of_session(db: Guarded, table: str, native: str) -> dict[str, Any]:
    """A session's own row."""
    return next(_held(db, table, "id", native), dict[str, Any]())


def beside(db: Guarded, table: str, native: str, told: frozenset[str]) -> Iterator[bytes]:
    """The session's own row, and every row about it in a table that the document does not tell."""
    yield codec.encode({"table": table, "row": of_session(db, table, native)}) + b"\n"
    for other, names in db.columns().items():
        if "session_id" in names and other not in told:
            for row in _held(db, other, "session_id", native):
                yield codec.encode({"table": other, "row": row}) + b"\n"


def _held(db: Guarded, table: str, column: str, native: str) -> Iterator[dict[str, Any]]:
    """Rows as they were stored; columns that are computed are no evidence."""
    names = db.columns()[table]
    query = f"FROM {quoted(table)} WHERE {quoted(column)} = ?"
    for row in db.values([quoted(name) for name in names], query, native):
        yield {name: _plain(value) for name, value in zip(names, row, strict=True)}


def joined(ids: dict[str, Any], data: Any, is_object: Any) -> bytes:
    """The ids of a row and its content, which is kept as it was written; what is no object is a field of its own.

    A row that was cut would otherwise end in the one behind it, and hide all that follow."""
    if is_object:
        return codec.encode(_named(ids))[:-1] + b"," + data[1:].encode("utf-8", "surrogateescape").replace(b"\n", b" ")
    return codec.encode(_named(ids) | ({} if data == "{}" else {HELD: _plain(data)}))


def _named(ids: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in ids.items()}


def _plain(value: Any) -> Any:
    """A value that JSON has; bytes that are no text are told by their numbers."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return value.hex() if isinstance(value, bytes) else value


def info(row: dict[str, Any]) -> dict[str, Any]:
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
