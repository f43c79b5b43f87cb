"""The door of the recorder: what a format must offer to be recorded in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from muniment.model.events import Event, Written


class Dialect:
    """How a recorder writes sessions in a source's format: formats of appended JSON lines have one."""

    name: str
    resumes_in_place: bool = False
    """Whether a resumed session goes on in the same file, because the format cannot say what it goes on from."""
    answers_name_model: bool = False
    """Whether each answer says which model gave it, because the header has no place for it."""
    ignored_by_git: bool = False
    """Whether its folder lies in somebody's project and must not be committed with it."""

    def new_id(self) -> str:
        """An id for an event: 128 random bits."""
        return os.urandom(16).hex()

    def root(self, cwd: Path, env: Mapping[str, str]) -> Path:
        """Where sessions are recorded unless somebody says otherwise: in the working folder."""
        return cwd

    def place(self, root: Path, header: Event) -> Path:
        """The file of a new session below `root`; the header's payload tells `session_id`, `start_ts` and more."""
        raise NotImplementedError

    def folder(self, root: Path) -> Path:
        """Where below `root` the sessions of this format lie, at any depth."""
        raise NotImplementedError

    def lines(self, events: Sequence[Event]) -> list[Written]:
        """Events that belong together as lines; fewer or none where the format has no line for them.

        Raises `Unsupported` for an event that must not be dropped and that the format cannot hold."""
        raise NotImplementedError

    def events(self, line: bytes) -> list[Event]:
        """What a line says. Raises ValueError if it is no line of this format."""
        raise NotImplementedError

    def identify(self, line: bytes) -> tuple[str, int] | None:
        """Key and fingerprint of a line, as `lines` gave them; None for a line without an id. Never raises."""
        raise NotImplementedError

    def flag(self, line: bytes) -> bytes:
        """The line marked as one whose id is taken by other content, if the format has a place for that."""
        return line

    def recovery(self, offset: int, length: int, sha256: str) -> bytes | None:
        """A line that tells of a damaged span, if the format has one."""
        return None
