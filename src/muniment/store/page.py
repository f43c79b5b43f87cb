"""The document file: its head renewed, the messages of closed rounds kept as they are, new ones added behind.

Closed rounds never change, so an append copies their bytes and renders only the open round anew.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO

from msgspec import structs

from muniment import files
from muniment.errors import MunimentError, NotFound, StoreError
from muniment.model import Message
from muniment.store import document, head
from muniment.store.layout import Shelf

BODY_BYTES = "body_bytes"
_IN_MEMORY = 8 << 20
_SEPARATOR = document.SEPARATOR.encode()
_HEAD_BYTES = 1 << 17


class Page:
    """A document being written: messages first, head last, because the head counts the messages."""

    def __init__(self, shelf: Shelf, kept_bytes: int = 0) -> None:
        self.shelf = shelf
        self.kept_bytes = kept_bytes
        """Bytes of the old body that stay."""
        self.body_bytes = kept_bytes
        self.parts: list[bytes] = []
        self.waiting_bytes = 0
        self.spill: IO[bytes] | None = None

    def add(self, messages: Iterable[Message]) -> None:
        """Render messages behind what is there."""
        for data in document.render(messages, self.shelf.name):
            if self.body_bytes:
                self._write(_SEPARATOR)
            self._write(data)

    def _write(self, data: bytes) -> None:
        """In memory, and on the store's own disk when there is much of it."""
        self.parts.append(data)
        self.body_bytes += len(data)
        self.waiting_bytes += len(data)
        if self.waiting_bytes > _IN_MEMORY:
            files.make_folder(self.shelf.folder)
            self.spill = self.spill or tempfile.TemporaryFile(dir=self.shelf.folder)  # noqa: SIM115
            self.spill.writelines(self.parts)
            self.parts, self.waiting_bytes = [], 0

    def finish(self, top: head.Head) -> None:
        """Put the document in its place; the size of its body stands in it, so that an edit shows by it."""
        top = structs.replace(top, own=top.own | {BODY_BYTES: self.body_bytes})
        self.shelf.write_document(self._pieces(top))
        if self.spill:
            self.spill.close()

    def _pieces(self, top: head.Head) -> Iterator[bytes]:
        yield head.render(top, has_messages=self.body_bytes > 0)
        if self.kept_bytes:
            start = body_start(self.shelf.document)
            yield from files.chunks(self.shelf.document, start, start + self.kept_bytes)
        if self.spill:
            self.spill.seek(0)
            while piece := self.spill.read(files.CHUNK_BYTES):
                yield piece
        yield from self.parts


def replace_head(path: Path, top: head.Head) -> None:
    """Another head on the same messages."""
    start = body_start(path)
    rest = files.chunks(path, start)
    files.write_durable(path, chain([head.render(top, has_messages=start < path.stat().st_size)], rest))


def body_start(path: Path) -> int:
    """Where the first message begins."""
    top, _ = head.split(_beginning(path))
    return len(top)


def _beginning(path: Path) -> bytes:
    """The head and some of what follows: one read, and for a head that is longer as many as it takes."""
    with files.open_regular(path) as file:
        data = piece = file.read(_HEAD_BYTES) or b""
        while len(piece) >= _HEAD_BYTES and not document.HEADER_BYTES.search(data):
            piece = file.read(len(data)) or b""  # twice as much each time, so that nothing is looked through often
            data += piece
        return data


def load_head(path: Path) -> head.Head | None:
    """The head of a document; None if there is no document."""
    if not os.path.exists(path):
        return None
    top, _ = head.split(_beginning(path))
    return head.parse(top)


def other_session(path: Path, session_id: str) -> str | None:
    """The session that a document says it is of, if that is another one.

    Ours say it in their first field, which takes no parsing to see; a damaged head tells nothing."""
    own = f'---\nsession_id: "{session_id}"\n'.encode()
    try:
        with files.open_regular(path) as file:
            if file.read(len(own)) == own:
                return None
        top = load_head(path)
    except (NotFound, StoreError, OSError):
        return None
    said = top.fields.get("session_id") if top else None
    return None if said in (None, session_id) else str(said)


def body_bytes(path: Path) -> int | None:
    """Size of the body; None if there is no document."""
    try:
        return path.stat().st_size - body_start(path)
    except (FileNotFoundError, StoreError):
        return None


def is_edited(path: Path) -> bool:
    """Whether somebody changed the messages of a document, or damaged its head."""
    try:
        top = load_head(path)
    except StoreError:
        return True
    return top is not None and top.own.get(BODY_BYTES) != body_bytes(path)


def is_damaged(path: Path) -> bool:
    """Whether a document is lost or has no head that can be read."""
    try:
        return load_head(path) is None
    except (MunimentError, OSError):
        return True


def load_body(path: Path) -> bytes:
    """The messages of a document, as bytes."""
    try:
        return head.split(files.read_regular(path))[1]
    except OSError:
        raise StoreError(f"{path}: the document is missing", "`muniment reindex` writes it anew") from None
