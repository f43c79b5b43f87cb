"""Notes on sessions, kept beside the index: one JSON line for a session in a certain state.

They can be deleted at any time; then what they say is found out again. A line of a killed writer, and one about a
session that has changed since, count for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from muniment import files
from muniment.model import codec


class Note(Protocol):
    """What is known of a session in one state of it."""

    @property
    def session_id(self) -> str: ...

    @property
    def revision(self) -> str: ...


N = TypeVar("N", bound=Note)


class Notes(Generic[N]):
    """The notes in one file."""

    def __init__(self, path: Path, kind: type[N]) -> None:
        self.path = path
        self.kind = kind

    def load(self, revisions: Mapping[str, str]) -> dict[str, N]:
        """Return the latest note on each of these sessions that is about its present state."""
        known: dict[str, N] = {}
        for line in self._lines():
            with suppress(msgspec.MsgspecError, ValueError):
                one = codec.decode(line, self.kind)
                known[one.session_id] = one
        return {id_: one for id_, one in known.items() if revisions.get(id_) == one.revision}

    def add(self, *notes: N) -> None:
        """Write notes behind those that are there."""
        with self.path.open("ab") as file:
            file.write(b"".join(codec.encode(one) + b"\n" for one in notes))

    def replace(self, notes: Iterable[N]) -> None:
        """Keep these notes and no others."""
        files.write_if_changed(self.path, b"".join(codec.encode(one) + b"\n" for one in notes))

    def forget(self, session_id: str) -> None:
        """Take out what is known of a session."""
        if self.path.exists():
            kept = [line for line in self._lines() if session_id.encode() not in line]
            files.write_if_changed(self.path, b"".join(line + b"\n" for line in kept))

    def _lines(self) -> list[bytes]:
        try:
            return [line for line in self.path.read_bytes().split(b"\n") if line]
        except FileNotFoundError:
            return []
