"""The entries of a session file, typed, and what the model sees of them.

{"type":"session","id":"a3f7c901-…","version":1,"timestamp":"2026-02-26T14:30:12Z","cwd":"/home/ada/lighthouse"}
{"type":"message","id":"d4e5f6a7","parent_id":"c3d4e5f6","timestamp":"…","role":"user","message":{"role":"user",…}}
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from muniment.model import codec
from muniment.model.codec import mapping

VERSION = 1


class Header(Struct, frozen=True, tag="session", tag_field="type"):
    """Line 1."""

    id: str
    version: int = VERSION
    timestamp: str = ""
    cwd: str = ""


class MessageEntry(Struct, frozen=True, tag="message", tag_field="type"):
    """What a user, the assistant or a tool said."""

    id: str
    parent_id: str | None = None
    timestamp: str = ""
    role: str = ""
    message: dict[str, Any] = {}


class CompactionEntry(Struct, frozen=True, tag="compaction", tag_field="type"):
    """From here on a summary stands for everything before `first_kept_entry_id`."""

    id: str
    parent_id: str | None = None
    timestamp: str = ""
    summary: str = ""
    first_kept_entry_id: str = ""
    tokens_before: int = 0


class BranchEntry(Struct, frozen=True, tag="branch", tag_field="type"):
    """This session is a fork of another."""

    id: str
    timestamp: str = ""
    parent_session_path: str = ""
    fork_entry_id: str = ""
    branch_summary: str = ""


Entry = Header | MessageEntry | CompactionEntry | BranchEntry
_decoder = msgspec.json.Decoder(Entry)


def parse_line(line: bytes) -> tuple[str, bytes]:
    """The type of an entry, and the entry as it stands there. Raises ValueError for a line that is none."""
    kind = mapping(codec.loads(line)).get("type")
    if not isinstance(kind, str):
        raise ValueError("not an entry: it has no type")
    return kind, line


def parse_entry(line: bytes) -> Entry:
    """A typed entry. Raises ValueError for a line that is none of the four."""
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not an entry: {error}") from None


def messages(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """The messages as the model sees them: the last compaction's summary, then the kept ones, word for word."""
    seen = list(entries)
    cut, start = _cut(seen)
    kept = [entry.message for entry in seen[start:] if isinstance(entry, MessageEntry)]
    return [_synthetic(cut), *kept] if cut else kept


def _cut(entries: list[Entry]) -> tuple[CompactionEntry | None, int]:
    """The last compaction that names an entry which is there, and where that is; one that does not was cut short."""
    places = {entry.id: place for place, entry in enumerate(entries) if not isinstance(entry, Header)}
    for entry in reversed(entries):
        if isinstance(entry, CompactionEntry) and entry.first_kept_entry_id in places:
            return entry, places[entry.first_kept_entry_id]
    return None, 0


def _synthetic(cut: CompactionEntry) -> dict[str, Any]:
    content = [{"type": "text", "text": cut.summary}]
    return {"role": "user", "content": content, "timestamp": milliseconds(cut.timestamp)}


def milliseconds(timestamp: str) -> int:
    """A time as messages tell it."""
    try:
        at = datetime.fromisoformat(timestamp)
    except ValueError:
        return 0
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
