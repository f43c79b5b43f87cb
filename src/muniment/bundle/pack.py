"""Packing sessions of a store into one file.

Every file is read twice, to hash it and to write it, while the store is locked: the manifest comes first and must not
promise what changes meanwhile. Of the evidence only what its manifest vouches for is taken.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import zstandard
from msgspec import Struct

from muniment import files
from muniment.bundle import contents
from muniment.bundle.contents import Bundled, Contents, Member
from muniment.errors import Conflict, NotFound, StoreError
from muniment.model import codec
from muniment.prospective import kept as prospective
from muniment.store import edits, engagements, evidence, roster
from muniment.store.layout import Layout, Shelf
from muniment.store.session_table import Listed

LEVEL = 6
_DERIVED = ("session.db", "session.db-wal", "session.db-shm", "index.md")


class Piece(Struct, frozen=True):
    """A member on its way: a file or some of it, or bytes."""

    name: str
    size: int
    path: Path | None = None
    data: bytes = b""

    def read(self) -> Iterator[bytes]:
        if self.path is None:
            yield self.data
        else:
            yield from files.chunks(self.path, 0, self.size)


def require_free(target: Path, force: bool) -> None:
    """Raise Conflict if there is something at the place of a bundle that may not be replaced."""
    if os.path.lexists(target) and not force:
        raise Conflict(f"{target} exists", "--force replaces it")


def pack(layout: Layout, sessions: Sequence[Listed], target: Path, redacted: bool = False) -> int:
    """Write a bundle of sessions, which come in the order of their ids; gives its size. The caller holds the lock of
    the store."""
    pieces = sorted(_pieces(layout, sessions), key=lambda piece: piece.name)
    made = Contents(
        format=contents.FORMAT,
        version=contents.VERSION,
        muniment=version("muniment"),
        redacted=redacted,
        sessions=tuple(Bundled(s.session_id, s.agent_id, s.source) for s in sessions),
        members=tuple(Member(piece.name, piece.size, _hash(piece)) for piece in pieces),
    )
    first = codec.encode(made)
    temporary = files.temporary_beside(target)
    try:
        with files.open_new(temporary) as out:
            _write(out, [Piece(contents.MANIFEST, len(first), data=first), *pieces], made)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return target.stat().st_size


def _hash(piece: Piece) -> str:
    sha256, size = hashlib.sha256(), 0
    for data in piece.read():
        sha256.update(data)
        size += len(data)
    if size != piece.size:
        raise StoreError(f"{piece.path}: shorter than it should be", "`muniment check --stored` tells what is wrong")
    return sha256.hexdigest()


def _write(out: IO[bytes], pieces: Iterable[Piece], made: Contents) -> None:
    """Nothing of when, where and by whom goes into the headers, so the same content is the same bytes."""
    hashes = {member.name: member.sha256 for member in made.members}
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    with (
        compressor.stream_writer(out, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for piece in pieces:
            header = tarfile.TarInfo(piece.name)
            header.size, header.mode = piece.size, files.FILE_MODE
            reader = _Hashed(piece.read())
            tar.addfile(header, reader)
            if piece.name in hashes and reader.sha256.hexdigest() != hashes[piece.name]:
                raise StoreError(f"{piece.path}: changed while it was bundled", "run the same command again")


class _Hashed(io.RawIOBase):
    """Pieces as a file, hashed on the way."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces
        self.rest = b""
        self.sha256 = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        while len(self.rest) < size and (piece := next(self.pieces, None)) is not None:
            self.rest += piece
        given, self.rest = self.rest[:size], self.rest[size:]
        self.sha256.update(given)
        return given


# -- what belongs to a session


def _pieces(layout: Layout, sessions: Sequence[Listed]) -> Iterator[Piece]:
    for session in sessions:
        yield from _of_session(layout.shelf(session.agent_id, session.session_id), session.session_id)
    ids = {session.session_id for session in sessions}
    yield from _lines(contents.RECORDS, (r for r in engagements.load(layout) if r.session_id in ids))
    yield from _lines(contents.EDITS, (e for e in edits.every(layout) if e.session_id in ids))
    yield from _lines(contents.ROSTER, roster.load(layout).of_any(ids))
    for name, data, record in prospective.copies(layout):
        if any(touch.session_id in ids for touch in record.sessions):
            yield Piece(f"{contents.TOLD}/{name}", len(data), data=data)


def _lines(name: str, values: Iterable[Any]) -> Iterator[Piece]:
    data = b"".join(line + b"\n" for line in sorted(map(codec.encode, values)))
    if data:
        yield Piece(name, len(data), data=data)


def _of_session(shelf: Shelf, session_id: str) -> Iterator[Piece]:
    if evidence.load(shelf.evidence) is None:
        raise NotFound(f"no evidence of session {session_id}", "`muniment check --stored` tells what is wrong")
    if shelf.document.exists():
        yield Piece(f"{contents.SESSIONS}/{session_id}.md", shelf.document.stat().st_size, shelf.document)
    for entry in files.walk(shelf.folder):
        path = Path(entry.path)
        parts = path.relative_to(shelf.folder).parts
        if entry.name in _DERIVED or any(part.startswith((".", "source-damaged-")) for part in parts):
            continue
        name = "/".join((contents.SESSIONS, session_id, *parts))
        if path.parent.name != "source":
            yield Piece(name, entry.stat().st_size, path)
        elif entry.name == "manifest.json":
            yield from _evidence(path.parent, name.removesuffix("/manifest.json"))


def _evidence(folder: Path, name: str) -> Iterator[Piece]:
    """Frames that an append was killed behind do not count."""
    manifest = evidence.load(folder)
    assert manifest, "its file was just met"
    data = (folder / "manifest.json").read_bytes()
    yield Piece(f"{name}/manifest.json", len(data), data=data)
    for kept in manifest.files:
        if kept.frames:
            path = evidence.packed_path(folder, kept)
            yield Piece(f"{name}/{path.name}", kept.packed_size, path)
