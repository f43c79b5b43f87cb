"""The lines of the recorder's own transcripts: one event each, in plain JSON.

{"type":"user","ts":"2026-01-02T03:04:05.678Z","uuid":"5c1e…","prev_uuid":null,"payload":{"text":"hi"}}
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.model.events import RECOVERY, Event, Written, told_time
from muniment.sources.dialect import Dialect

FOLDER = ".transcripts"


class _Line(Struct, gc=False):
    """An event whose payload is JSON already."""

    type: str
    ts: str
    uuid: str
    prev_uuid: str | None
    payload: msgspec.Raw


class _Shape(Struct, gc=False):
    """A line as far as its identity goes; the payload stays as it was written."""

    type: str
    uuid: str = ""
    payload: msgspec.Raw = msgspec.Raw(b"null")


_encode = msgspec.json.Encoder().encode
_decode_shape = msgspec.json.Decoder(_Shape).decode


class Native(Dialect):
    """Every event as it is."""

    name = "native"
    ignored_by_git = True

    def place(self, root: Path, header: Event) -> Path:
        return self.folder(root) / f"{header.payload['session_id']}.jsonl"

    def folder(self, root: Path) -> Path:
        return root / FOLDER

    def lines(self, events: Sequence[Event]) -> list[Written]:
        return list(map(_line, events))

    def events(self, line: bytes) -> list[Event]:
        try:
            return [codec.decode(line, Event)]
        except msgspec.ValidationError:
            return [event_of(codec.loads(line))]

    def identify(self, line: bytes) -> tuple[str, int] | None:
        try:
            shape = _decode_shape(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        return (shape.uuid, hash((shape.type, bytes(shape.payload)))) if shape.uuid else None

    def flag(self, line: bytes) -> bytes:
        return line[:-1] + b',"conflict":true}'

    def recovery(self, offset: int, length: int, sha256: str) -> bytes:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        span = {"offset": offset, "length": length, "sha256": sha256}
        return _line(Event(RECOVERY, now, uuid.uuid4().hex, None, span)).line


def event_of(value: Any) -> Event:
    """The event that a line holds which is JSON already. Raises ValueError if it is none.

    Its time may be a count: the persistence specification's own program writes `time.time()`."""
    said = mapping(value)
    if type(ts := said.get("ts")) in (int, float):
        value = said | {"ts": told_time(ts)}
    try:
        return msgspec.convert(value, Event)
    except msgspec.ValidationError as error:
        raise ValueError(f"not an event: {error}") from None


def _line(event: Event) -> Written:
    payload = codec.encode(event.payload)
    try:
        line = _encode(_Line(event.type, event.ts, event.uuid, event.prev_uuid, msgspec.Raw(payload)))
    except UnicodeEncodeError:  # half a character stands beside the payload
        line = codec.encode(event)
    return Written(line, event.uuid or None, hash((event.type, payload)))
