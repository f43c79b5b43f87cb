"""What Gemini CLI notes of every prompt, of all sessions of a project: one JSON array, which outlives the transcripts.

    [{"sessionId":"7d2a…","messageId":0,"type":"user","message":"fix the login","timestamp":"2026-01-02T03:04:05.000Z"}]

It is kept as lines, those of one session together. A restore does not give it back: lines do not fit into an array.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from muniment import files
from muniment.model import Facts, Round, codec
from muniment.sources import history
from muniment.sources.base import Found, SourceFile, source_file
from muniment.sources.history import Note
from muniment.sources.lines import MAX_LINE_BYTES, Record

FILE = "logs.json"
_LINES = "logs.jsonl"
_KEPT = re.compile(rf"tmp/[^/]*/{re.escape(_LINES)}")
_MAX_ID = 128
"""Characters of an id; none that the client makes comes near."""


def remembered(source: str, home: Path, shared: str) -> Iterator[Found]:
    """Return the sessions that the logs of all projects know; `shared` is an id that belongs to many of them."""
    notes: dict[str, list[SourceFile]] = {}
    for path in sorted((home / "tmp").glob(f"*/{FILE}")):
        for session, lines in _lines(path, files.changed_at(path)).items():
            if session != shared:
                name = f"tmp/{path.parent.name}/{_LINES}"
                notes.setdefault(session, []).append(SourceFile(str(path), name, "history", len(lines), 0, text=lines))
    return history.remembered(source, home, notes)


@lru_cache(maxsize=16)
def _lines(path: Path, _changed: tuple[int, int]) -> dict[str, bytes]:
    """Return the prompts of every session, one to a line; none of a log that is damaged or too large."""
    found = None if path.parent.is_symlink() else source_file(path, path.parent, "history")
    if found is None or found.size > MAX_LINE_BYTES:
        return {}
    lines: dict[str, bytes] = {}
    for entry in _entries(b"".join(files.chunks(path))):
        session = entry.get("sessionId")
        if isinstance(session, str) and 0 < len(session) <= _MAX_ID and session.isprintable():
            lines[session] = lines.get(session, b"") + codec.encode(entry) + b"\n"
    return lines


def _entries(raw: bytes) -> list[dict[str, Any]]:
    try:
        value = codec.loads(raw)
    except ValueError:
        return []
    return [codec.mapping(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else []


def is_kept_as(name: str) -> bool:
    """Return whether a kept file holds lines that were made of a log."""
    return bool(_KEPT.fullmatch(name))


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """Return the human's half of a session, as the log has it."""
    return history.read(lines, facts, _note)


def _note(line: bytes) -> Note:
    entry = codec.mapping(codec.loads(line))
    said, at = entry.get("message"), entry.get("timestamp")
    if not isinstance(said, str):
        raise ValueError("not an entry of a log")
    return Note(prompt=said, at=at if isinstance(at, str) else None)
