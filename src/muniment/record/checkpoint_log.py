"""The lines of a session's checkpoint log: what happened to which path, each line with an id of its own.

{"kind":"edit","id":"9f…","ts":"2026-01-02T03:04:05.678Z","entry":"5c…","path":"/proj/a.py","before":{"sha256":"e3…","mode":33188}}
{"kind":"left","id":"a0…","ts":"…","edit":"9f…","path":"/proj/a.py","after":{"sha256":"77…","mode":33188}}
"""

from __future__ import annotations

from typing import cast

import msgspec
from msgspec import Struct

from muniment.model import codec
from muniment.record.paths import State


class Entry(Struct, frozen=True, tag_field="kind", kw_only=True):
    """One line of the log."""

    id: str
    ts: str


class Began(Entry, frozen=True, tag="session"):
    """Whose checkpoints these are."""

    cwd: str | None = None
    transcript: str | None = None


class Edit(Entry, frozen=True, tag="edit"):
    """The session is about to edit a file."""

    entry: str
    """Id of the transcript's entry."""
    path: str
    before: State


class Left(Entry, frozen=True, tag="left"):
    """How an edit left the file."""

    edit: str
    path: str
    after: State


class Step(Struct, frozen=True):
    """What a rewind does to one path."""

    path: str
    before: State
    after: State
    origin: str
    """The edit or rewind before which it was so."""


class Rewind(Entry, frozen=True, tag="rewind"):
    """Files are about to be taken back. What stood in their place is kept."""

    to: str | None = None
    undoes: str | None = None
    """Id of the rewind that this one takes back."""
    steps: tuple[Step, ...] = ()


class Done(Entry, frozen=True, tag="done"):
    """All steps of a rewind were taken."""

    rewind: str


_ANY_ENTRY = cast("type[Entry]", Began | Edit | Left | Rewind | Done)


class Lines:
    """The log's lines as the append engine sees them."""

    def identify(self, line: bytes) -> tuple[str, int] | None:
        entry = decode(line)
        return (entry.id, hash(line)) if entry else None

    def flag(self, line: bytes) -> bytes:
        return line

    def recovery(self, offset: int, length: int, sha256: str) -> bytes | None:
        return None


def decode(line: bytes) -> Entry | None:
    try:
        return codec.decode(line, _ANY_ENTRY)
    except (msgspec.ValidationError, ValueError):
        return None
