"""Answers that were paid for, kept as they came, and the batches that are still on their way.

A kept answer is checked again when it is read, so a damaged file or a stricter rule costs a call, never a wrong record.
The name of an answer's file says what was asked: the skeleton, the model, its server and the words of the prompt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from muniment import files
from muniment.errors import StoreError
from muniment.ingest import skeleton as skeletons
from muniment.ingest.models import prompt
from muniment.ingest.models.client import Reply
from muniment.ingest.models.settings import Settings
from muniment.ingest.skeleton import Skeleton

S = TypeVar("S", bound=Struct)

_BATCH = "batch-"


class Pending(Struct, frozen=True):
    """A batch that was sent: what is in it is paid for once it is done."""

    id: str
    name: str
    """Kind and model."""
    url: str
    sessions: int


def key_of(session: Skeleton, settings: Settings) -> str:
    """What an answer is kept under: 64 hexadecimal digits, which a batch takes as a name too."""
    parts = (skeletons.fingerprint(session), settings.name, settings.url or "", str(prompt.VERSION))
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class Cache:
    """The folder of kept answers; without a folder, what this run has heard."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.held: dict[str, bytes] = {}

    def get(self, key: str) -> Reply | None:
        """An answer that is kept."""
        return _decoded(self._bytes(f"{key}.json"), Reply)

    def put(self, key: str, reply: Reply) -> None:
        self._write(f"{key}.json", msgspec.json.encode(reply))

    def drop(self, key: str) -> None:
        self._remove(f"{key}.json")

    def pending(self) -> Iterator[Pending]:
        """The batches that nobody has collected yet."""
        for name in self._names():
            if name.startswith(_BATCH) and (found := _decoded(self._bytes(name), Pending)):
                yield found

    def await_batch(self, batch: Pending) -> None:
        """Remember a batch, so that the next run collects it if this one cannot; survives a power cut."""
        self._write(_batch_name(batch), msgspec.json.encode(batch))
        if self.folder is not None:
            files.sync(self.folder)

    def collected(self, batch: Pending) -> None:
        self._remove(_batch_name(batch))

    # -- files or memory

    def _names(self) -> list[str]:
        if self.folder is None:
            return sorted(self.held)
        return [entry.name for entry in files.walk(self.folder)]

    def _bytes(self, name: str) -> bytes | None:
        if self.folder is None:
            return self.held.get(name)
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{self.folder / name}: {error.strerror}", "kept answers cannot be read") from None

    def _write(self, name: str, data: bytes) -> None:
        if self.folder is None:
            self.held[name] = data
            return
        try:
            files.write_if_changed(self.folder / name, data)
        except OSError as error:
            raise StoreError(f"{self.folder / name}: {error.strerror}", "answers cannot be kept there") from None

    def _remove(self, name: str) -> None:
        self.held.pop(name, None)
        if self.folder is not None:
            (self.folder / name).unlink(missing_ok=True)


def _batch_name(batch: Pending) -> str:
    """The id comes from a server, so it is not used as a name."""
    return f"{_BATCH}{hashlib.sha256(batch.id.encode()).hexdigest()[:16]}.json"


def _decoded(data: bytes | None, type_: type[S]) -> S | None:
    """What a file says; one that was damaged says nothing."""
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
