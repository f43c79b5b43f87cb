"""Where Codex looks for a session, and what must change when one moves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from muniment.model import Facts
from muniment.sources.base import Move
from muniment.sources.codex import zst
from muniment.sources.moving_lines import changed

EPOCH = "1970-01-01T00:00:00.000Z"
"""The time of sessions that tell none."""

_PLACEHOLDER = "cwd_is_placeholder"
"""Our mark on a head whose folder stands for none. The client refuses a head without a folder and skips this field."""

_ID_FIELDS = ("id", "session_id", "thread_id", "sender_thread_id")


def place(facts: Facts, move: Move) -> str:
    """A name of the client's own shape; its time is UTC, where the client's is local."""
    at = _time_of(facts.started)
    name = f"rollout-{at:%Y-%m-%dT%H-%M-%S}-{move.session_id or facts.session_id}.jsonl"
    return f"sessions/{at:%Y/%m/%d}/{name}"


def _time_of(at: str | None) -> datetime:
    try:
        found = datetime.fromisoformat(at or EPOCH)
    except ValueError:
        found = datetime.fromisoformat(EPOCH)
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def folder(cwd: str | None, facts: Facts, move: Move) -> str | None:
    """A working folder, moved along with the session."""
    old = facts.first_cwd or facts.cwd
    if move.cwd is None or not cwd or not old:
        return move.cwd or cwd
    below = cwd == old or cwd.startswith(old.rstrip("/") + "/")
    return move.cwd + cwd[len(old) :] if below else cwd


def make_folder_fields(cwd: str | None) -> dict[str, Any]:
    """Return the fields of a head that tell the working folder, or that none is known."""
    return {"cwd": cwd} if cwd else {"cwd": "/", _PLACEHOLDER: True}


def find_folder(head: dict[str, Any]) -> Any:
    """Return the working folder that a head tells, unless it only stands for one."""
    return None if head.get(_PLACEHOLDER) is True else head.get("cwd")


def moved(name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
    """An original file with folder and identity changed; a packed one comes back as plain lines."""
    swaps = _swaps(facts, move)
    if not swaps:
        return name, pieces
    if zst.is_packed(name):
        name, pieces = name.removesuffix(".zst"), zst.unpacked(pieces)
    if move.session_id:
        name = name.replace(facts.native_id or facts.session_id, move.session_id)
    return name, _swapped(pieces, swaps)


def _swapped(pieces: Iterable[bytes], swaps: list[tuple[bytes, bytes]]) -> Iterator[bytes]:
    def change(line: bytes) -> bytes:
        for old, new in swaps:
            line = line.replace(old, new)
        return line

    return changed(pieces, change)


def _swaps(facts: Facts, move: Move) -> list[tuple[bytes, bytes]]:
    """Fields as the client writes them; inside a text their quotes are escaped, so no text is touched."""
    swaps: list[tuple[bytes, bytes]] = []
    if move.session_id:
        old_id = facts.native_id or facts.session_id
        swaps += [_swap(field, old_id, move.session_id, '"') for field in _ID_FIELDS]
    old = facts.first_cwd or facts.cwd
    if move.cwd and old:
        swaps += [_swap("cwd", old, move.cwd, end) for end in ('"', "/", "\\\\")]
    return swaps


def _swap(field: str, old: str, new: str, end: str) -> tuple[bytes, bytes]:
    before, after = (f'"{field}":{json.dumps(value, ensure_ascii=False)[:-1]}{end}' for value in (old, new))
    return before.encode(), after.encode()
