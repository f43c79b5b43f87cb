"""What goes into an inscription and what it says while it works: plain values that cross process borders."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from muniment.model import Facts, Problem
from muniment.sources.base import Found, SourceFile
from muniment.store import rows
from muniment.store.damage_table import Copied
from muniment.store.evidence import Kept
from muniment.store.rows import NOTHING, Span
from muniment.store.session_table import SessionRow


class Progress(Struct, frozen=True, omit_defaults=True):
    """How far a transcript is read, and what an append needs to go on from there."""

    size: int
    """Bytes of the evidence that were read."""
    open_offset: int
    """Where the open round begins."""
    body_bytes: int
    """Size of the document's body before the open round."""
    whole_body_bytes: int
    """Size of the whole body: another size on disk means that somebody edited it."""
    indexed: int
    """End of the last whole record."""
    before: Facts
    """The facts before the open round."""
    facts: Facts
    """The facts with it."""
    edition: int = 0
    """Of the evidence that was read."""
    open_texts: int = 0
    """Tells whether the texts of the open round, as its file has them, are those that were indexed."""


class Task(Struct, frozen=True):
    """One session to be inscribed."""

    found: Found
    agent_id: str
    signature: str
    progress: dict[str, dict[str, bytes]]
    """By version ("" is the current one), then by file name: encoded `Progress`."""
    tags: dict[int, str] = {}  # msgspec copies mutable defaults
    """The engagements of its rounds, as the index knows them."""
    rebuild: str | None = None
    """Verify and mend the evidence of this version, and derive the rest anew from it; the source is not taken in."""
    manifests: dict[str, bytes] = {}
    """Copies of its manifests that the index has, by version."""
    sources: tuple[SourceFile, ...] = ()
    """Files that may have the bytes of evidence that is damaged."""
    marked: bool = False
    """It is rebuilt because damage was found."""
    tried: bool = False
    """Its evidence was mended as far as it could be: what is still damaged must not stop the rest."""


class Outcome(Struct, frozen=True):
    """What inscribing one session came to."""

    session_id: str
    path: str
    what: str
    """new, appended, unchanged, version, shrunk, rebuilt, healed, damaged (the archive, beyond mending) or failed.

    One that failed with problems met damage in the archive that may be mended."""
    rounds: int = 0
    messages: int = 0
    bytes_read: int = 0
    problems: tuple[Problem, ...] = ()
    note: str = ""


class Begin(Struct, frozen=True):
    """Rows of one transcript follow, from this round and byte on."""

    session_id: str
    agent_id: str
    source: str
    sidechain: str | None
    round: int
    offset: int
    same: Span = NOTHING
    """Records whose rows stay, because they are the same and have only moved."""
    indexed: bool = True
    """Older versions are kept, not indexed."""


class Rows(Struct, frozen=True):
    """Some rows of the transcript begun last."""

    rounds: tuple[rows.RoundRow, ...] = ()
    texts: tuple[rows.TextRow, ...] = ()
    usage: tuple[rows.UsageRow, ...] = ()
    branches: tuple[tuple[int, int], ...] = ()
    text_bytes: int = 0
    """How much text it brings."""
    moves: tuple[tuple[rows.Place, rows.Place | None], ...] = ()
    """Texts of the index that belong to another round or kind than before; None for those that are no more."""


class Done(Struct, frozen=True):
    """A session is in the store; the index may say so."""

    row: SessionRow
    version: str
    source_path: str
    signature: str
    progress: tuple[tuple[str, bytes], ...]
    moved: tuple[str, str, Facts] | None
    """A former current version that is now kept as an older one: hash, path, facts."""
    outcome: Outcome
    obsolete: tuple[str, ...] = ()
    """Files that may go as soon as this is durable."""
    manifest: Copied | None = None
    """What the index is to keep of the manifest."""
    damage: tuple[Problem, ...] | None = None
    """All that is damaged; None if nobody looked for it."""


Sink = Callable[[Begin | Rows | Done], None]


def signature(found: Found) -> str:
    """Changes whenever any file of the session may have changed."""
    seen = [(f.name, f.size, f.mtime_ns, f.inode) for f in found.files]
    return hashlib.sha256(repr(seen).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def key_path(found: Found) -> str:
    """The path that stands for a session on this machine; a history and some other files are about many."""
    first = found.main or found.files[0]
    shared = first.role == "history" or first.start is not None
    return f"{first.path}#{found.session_id}" if shared else first.path


AnyFile = TypeVar("AnyFile", SourceFile, Kept)


def is_transcript(file: AnyFile, files: Sequence[AnyFile]) -> bool:
    """Whether rounds are read from a file, which is one of these."""
    return file.role in ("main", "sidechain") or file is stand_in(files)


def stand_in(files: Sequence[AnyFile]) -> AnyFile | None:
    """The history that is read in place of a transcript, where there is none."""
    if any(file.role == "main" for file in files):
        return None
    return next((file for file in files if file.role == "history"), None)
