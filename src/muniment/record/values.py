"""What the recorder gives back: plain values."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class Recorded(Struct, frozen=True, gc=False):
    """An event is in the file."""

    uuid: str
    byte_offset: int = -1
    """-1 for an event that the dialect has no line for."""
    line_number: int = -1
    duplicate: bool = False
    conflict: bool = False


class Call(Struct, frozen=True):
    """A recorded tool call; its result refers to it."""

    id: str
    name: str
    recorded: Recorded


class Outputs(Struct, frozen=True):
    """What a session leaves behind."""

    transcript_path: Path
    history_offset: int | None
    """Of its latest prompt; None before the first."""
    checkpoint_hash: str


class Closed(Struct, frozen=True):
    """What `close` guarantees."""

    transcript_flushed: bool
    history_appended: bool
