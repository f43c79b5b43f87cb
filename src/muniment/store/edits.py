"""`edits.jsonl`: what people decided about the archive, append-only, so that `reindex` can apply it again.

    {"at":"2026-03-20T09:00:00Z","kind":"engagement","session_id":"…","round":3,"value":"console-work"}

The last edit of a round wins; an empty value takes the tag away. Round files never change.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from muniment import files
from muniment.model import codec
from muniment.store.layout import Layout


class Edit(Struct, frozen=True):
    """One decision."""

    at: str
    kind: str
    session_id: str
    round: int | None = None
    value: str | None = None


def append(layout: Layout, edit: Edit) -> None:
    """Add a decision; durable when this returns."""
    files.make_folder(layout.sessions)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    descriptor = os.open(layout.edits, flags, files.FILE_MODE)
    try:
        torn = os.fstat(descriptor).st_size and not layout.edits.read_bytes().endswith(b"\n")
        os.write(descriptor, (b"\n" if torn else b"") + codec.encode(edit) + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def engagements(layout: Layout, session_id: str) -> dict[int, str]:
    """The engagement of every tagged round of a session."""
    return _engagements(layout.edits, files.changed_at(layout.edits)).get(session_id, {})


@lru_cache(maxsize=2)
def _engagements(path: Path, changed: tuple[int, int]) -> dict[str, dict[int, str]]:
    tags: dict[str, dict[int, str]] = {}
    for line in path.read_bytes().split(b"\n") if changed != (0, 0) else []:
        try:
            edit = msgspec.json.decode(line, type=Edit)
        except msgspec.MsgspecError:
            continue  # a torn line of a killed writer
        if edit.kind == "engagement" and edit.round is not None:
            own = tags.setdefault(edit.session_id, {})
            own.pop(edit.round, None)
            if edit.value:
                own[edit.round] = edit.value
    return tags
