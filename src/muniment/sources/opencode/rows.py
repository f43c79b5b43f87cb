"""Rows of opencode's database as JSON: what its tables of any version have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muniment.model import codec
from muniment.sources.opencode.snapshot import Snapshot

LEAST = '{"'
"""How every plain row begins."""

_JSON = ("revert", "permission", "model", "metadata")
_TOKENS = ("input", "output", "reasoning")


def plain(data: str, *ids: str) -> str:
    """The question whether a row's content and ids are the same in JSON, so that their sizes tell that of its line."""
    return " AND ".join([f"substr({data}, 1, 2) = '{LEAST}'", *(f"{id_} NOT GLOB '*[^0-9A-Za-z_-]*'" for id_ in ids)])


def tables(db: Snapshot) -> list[str]:
    """The names of all tables."""
    return [str(row[0]) for row in db.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]


def columns(db: Snapshot, table: str) -> list[str]:
    """The names of a table's columns."""
    return [str(row[1]) for row in db.rows(f'PRAGMA table_info("{table}")')]


def of_session(db: Snapshot, table: str, native: str) -> dict[str, Any]:
    """A session's own row."""
    found = db.rows(f'SELECT * FROM "{table}" WHERE id = ?', native)
    names = columns(db, table)
    return {name: _plain(value) for row in found for name, value in zip(names, row, strict=True)}


def beside(db: Snapshot, table: str, native: str, told: frozenset[str]) -> Iterator[bytes]:
    """The session's own row, and every row about it in a table that the document does not tell."""
    yield codec.encode({"table": table, "row": of_session(db, table, native)}) + b"\n"
    for other in tables(db):
        names = columns(db, other)
        if "session_id" in names and other not in told:
            for row in db.rows(f'SELECT * FROM "{other}" WHERE session_id = ?', native):
                held = {name: _plain(value) for name, value in zip(names, row, strict=True)}
                yield codec.encode({"table": other, "row": held}) + b"\n"


def joined(ids: dict[str, str], data: Any) -> bytes:
    """The ids of a row and its content, which is kept as it was written; what is no object is a field of its own."""
    if isinstance(data, str) and data.startswith(LEAST):
        return codec.encode(ids)[:-1] + b"," + data[1:].encode("utf-8", "surrogatepass").replace(b"\n", b" ")
    return codec.encode(ids | ({} if data == "{}" else {"data": _plain(data)}))


def _plain(value: Any) -> Any:
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
