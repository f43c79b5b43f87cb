"""Lines on their way into a log: what the engine must know of them, and where each will lie."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from muniment.model.events import Written


class Ack(Struct, frozen=True, gc=False):
    """An event is in the file; it survives the death of every process."""

    byte_offset: int
    line_number: int
    duplicate: bool = False
    """The same event was there already; nothing was written."""
    conflict: bool = False
    """Its id was taken by other content; both are kept."""


class Format(Protocol):
    """What the engine must know of the lines: a part of a dialect."""

    def identify(self, line: bytes) -> tuple[str, int] | None: ...
    def flag(self, line: bytes) -> bytes: ...
    def recovery(self, offset: int, length: int, sha256: str) -> bytes | None: ...


class Rotation(Protocol):
    """When and how a full file makes way for a new one. Asked under the lock."""

    def due(self, size: int, lines: int) -> bool: ...
    def move(self) -> None: ...


Place = tuple[int, int, int]
"""Offset, line number and fingerprint of a line."""


class Item:
    """A line on its way into the file."""

    __slots__ = ("ack", "written")

    def __init__(self, written: Written) -> None:
        self.written = written
        self.ack: Ack | None = None


class Batch:
    """Lines that are written together, and where each will lie."""

    def __init__(self, offset: int, number: int) -> None:
        self.offset: int = offset
        self.number: int = number
        self.lines: list[bytes] = []
        self.added: list[Item] = []
        self.new: dict[str, Place] = {}

    def take(self, item: Item, seen: dict[str, Place], form: Format) -> None:
        """Add a line, unless it is there: in the file, or in this batch."""
        line, key, fingerprint = item.written.line, item.written.key, item.written.fingerprint
        known = taken = None if key is None else seen.get(key) or self.new.get(key)
        if key is not None and known and known[2] != fingerprint:
            key = other_key(key, fingerprint)
            known = seen.get(key) or self.new.get(key)
        if known:
            item.ack = Ack(known[0], known[1], duplicate=True, conflict=known is not taken)
            return
        if taken:
            line = form.flag(line)
        self.number += 1
        item.ack = Ack(self.offset, self.number, conflict=taken is not None)
        if key is not None:
            self.new[key] = (self.offset, self.number, fingerprint)
        self.lines.append(line)
        self.added.append(item)
        self.offset += len(line) + 1


def other_key(key: str, fingerprint: int) -> str:
    """Where an event is remembered whose id is taken by other content."""
    return f"{key} {fingerprint}"
