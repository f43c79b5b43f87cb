"""What is known of the instructions a session worked under."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Level = Literal["home", "above", "project", "below", "import", "recorded"]
Known = Literal["recorded", "disk", "git", "unknown"]


class Instruction(Struct, frozen=True):
    """One file of instructions, as it stood when the session began."""

    path: str
    level: Level
    """Whose it is: the user's home, a folder above the repository, the project, a folder that was touched."""
    known: Known
    """From what its content is known: the transcript, a file that nobody changed since, git; or not at all."""
    sha256: str | None = None
    size: int | None = None
    commit: str | None = None
    """The commit that last changed it before the session."""
    committed: str | None = None
    why: str = ""
    """What that rests on, or why it is unknown."""
    imported_by: str | None = None
    round: int | None = None
    """Of recorded ones: the round in which the model got it."""
    text: str | None = None


class Change(Struct, frozen=True):
    """A file beside what it was in the session before."""

    path: str
    what: Literal["same", "changed", "new", "gone", "unknown"]
    diff: str = ""
    """Without secrets: a placeholder with a number stands for each, so one that changed is seen to have changed."""


class Instructions(Struct, frozen=True):
    """Everything that is known of the instructions of a session."""

    session_id: str
    started: str | None
    folder: str | None
    commit: str | None
    """What was checked out when it began, as far as that can be told."""
    how: str
    """What that rests on."""
    files: tuple[Instruction, ...]
    unknown: tuple[str, ...]
    """What cannot be known, in words."""
    previous: str | None = None
    """The session before it in the same project."""
    changes: tuple[Change, ...] = ()
