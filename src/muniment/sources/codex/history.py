"""What Codex notes about all sessions: their prompts and their names.

{"session_id":"0198…","ts":1767323045,"text":"fix the login"}           <home>/history.jsonl
{"id":"0198…","thread_name":"The login","updated_at":"2026-01-02T…"}    <home>/session_index.jsonl
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from muniment import files
from muniment.model import Facts, Round
from muniment.model.codec import loads, mapping
from muniment.sources import history
from muniment.sources.base import Found, SourceFile
from muniment.sources.history import Note
from muniment.sources.lines import Record

FILES = {"history.jsonl": "session_id", "session_index.jsonl": "id"}
"""The files, and the field that names a session. Prompts come first: they are read where a transcript is missing."""


def about(home: Path, native_id: str) -> list[SourceFile]:
    """The lines about a session."""
    found = ((home / name, _lines_in(home, name).get(native_id)) for name in FILES)
    return [history.history_file(path, lines) for path, lines in found if lines]


def remembered(source: str, home: Path) -> Iterator[Found]:
    """Sessions that the history of prompts or the index of names knows."""
    known = dict.fromkeys(id_ for name in FILES for id_ in _lines_in(home, name))
    return history.remembered(source, home, {id_: about(home, id_) for id_ in known})


def _lines_in(home: Path, name: str) -> dict[str, bytes]:
    return _lines(home / name, FILES[name], files.changed_at(home / name))


@lru_cache(maxsize=8)
def _lines(path: Path, field: str, _changed: tuple[int, int]) -> dict[str, bytes]:
    return history.lines_by_session(path, lambda line: mapping(loads(line)).get(field))


def session_of(name: str, line: bytes) -> Any:
    """What a line of one of the files names as its session; None if it is damaged or the file is another."""
    try:
        return mapping(loads(line)).get(FILES[name]) if name in FILES else None
    except ValueError:
        return None


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The human's half of a session; of one that left no prompts, its name."""
    return history.read(lines, facts, _note)


def _note(line: bytes) -> Note:
    record = mapping(loads(line))
    words, name = record.get("text"), record.get("thread_name")
    if isinstance(words, str):
        return Note(prompt=words, at=history.time_of(record.get("ts")))
    if isinstance(name, str):
        return Note(title=name)
    raise ValueError("neither a prompt nor a name")
