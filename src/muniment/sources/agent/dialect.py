"""How a recorder writes the entries of `agent`, and what they say as events.

An entry holds a whole message, so events that are given together become its parts. The id of an entry is that of its
last event; the ones before it, when read, have the same id with a number behind it (`d4e5f6a7.0`).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.model.events import Event, Written
from muniment.sources.agent import compose, find, told
from muniment.sources.dialect import Dialect
from muniment.sources.recorded.single import start_of


class Agent(Dialect):
    """`YYYYMMDD-HHMMSS-<8hex>.jsonl`: a header, then messages, compactions and branches."""

    name = "agent"
    resumes_in_place = True
    answers_name_model = True

    def new_id(self) -> str:
        return uuid.uuid4().hex[:8]

    def root(self, cwd: Path, env: Mapping[str, str]) -> Path:
        return find.homes(env)[0]

    def place(self, root: Path, header: Event) -> Path:
        payload = mapping(header.payload)
        return self.folder(root) / file_name(payload.get("start_ts") or header.ts, str(payload["session_id"]))

    def folder(self, root: Path) -> Path:
        return root / "sessions"

    def lines(self, events: Sequence[Event]) -> list[Written]:
        return [_written(codec.encode(entry)) for entry in compose.entries(events)]

    def events(self, line: bytes) -> list[Event]:
        return told.events(mapping(codec.loads(line)))

    def identify(self, line: bytes) -> tuple[str, int] | None:
        try:
            entry = mapping(codec.loads(line))
        except ValueError:
            return None
        key = entry.pop("id", None)
        if not isinstance(key, str) or not key:
            return None
        entry.pop("timestamp", None)
        if isinstance(entry.get("message"), dict):
            entry["message"] = {name: said for name, said in mapping(entry["message"]).items() if name != "timestamp"}
        return key, hash(codec.encode(entry))


def _written(line: bytes) -> Written:
    key, fingerprint = Agent().identify(line) or (None, 0)
    return Written(line, key, fingerprint)


def file_name(started: str, session_id: str) -> str:
    """The name of a session's file: its time in UTC, and the beginning of its id."""
    return f"{start_of(started):%Y%m%d-%H%M%S}-{session_id[:8]}.jsonl"
