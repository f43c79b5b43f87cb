"""What is put to the test: a writer of events, and a reader of what it wrote."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Protocol

SHARED = "shared"
"""Several processes may write to one file at the same time."""
ONCE = "once"
"""The same uuid with the same payload is stored once, whoever appends it and however often."""
BOTH = "both"
"""The same uuid with another payload is stored, too."""
ORDERED = "ordered"
"""What was acknowledged before another append began stands before it."""
APPEND_ONLY = "append-only"
"""No byte that was in the file is ever changed or removed."""
RESUMES = "resumes"
"""After an error that has passed, the same open writer goes on."""
FORKS = "forks"
"""A forked child may go on with the writer that it inherited."""
SETTLES = "settles"
"""What is accepted becomes durable by itself within a second."""
EVERY_PROMISE = frozenset({SHARED, ONCE, BOTH, ORDERED, APPEND_ONLY, RESUMES, FORKS, SETTLES})


class Writer(Protocol):
    """An open file. Whatever it raises means: not acknowledged."""

    def append(self, session: str, uuid: str, payload: str) -> None:
        """When it returns, the event is accepted: it survives the death of every process."""
        ...

    def flush(self) -> None:
        """When it returns, everything accepted so far is durable: it survives a power cut."""
        ...

    def close(self) -> None: ...


class Subject:
    """A writer and its reader. That nothing acknowledged is lost is always asked; other promises can be left out."""

    promises: frozenset[str] = EVERY_PROMISE

    def open(self, path: Path) -> Writer:
        """Open for appending; made if it is not there. The folder is."""
        raise NotImplementedError

    def read(self, path: Path) -> list[tuple[str, str]]:
        """Every whole event as (uuid, payload), in order, however damaged the file is."""
        raise NotImplementedError

    def files(self, path: Path) -> list[Path]:
        """The files that hold the events or may come to, should there be more than one."""
        return [path]


@cache
def load(name: str) -> Subject:
    """The subject that `module:Name` stands for."""
    module, _, attribute = name.partition(":")
    found = getattr(importlib.import_module(module), attribute or "SUBJECT")
    return found() if isinstance(found, type) else found
