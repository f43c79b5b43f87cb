"""How a recorder writes the events of the decision record, and what they say; also what the program's own lines say.

{"type":"session_start","session_id":"…","image_id":"iguana","started_at":"2026-04-27T14:30:00Z",…}
{"type":"photographer_message","timestamp":"2026-04-27T14:30:09Z","text":"Warmer, please."}

The program that the record was written for has `kind` in place of `type`, other names, no talk and no results. Lines
have no ids, so a line that is appended twice is there twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from muniment.errors import Unsupported
from muniment.model import codec
from muniment.model import events as types
from muniment.model.codec import mapping
from muniment.model.events import Event, Written
from muniment.sources.adr029 import payloads, told
from muniment.sources.dialect import Dialect
from muniment.sources.recorded.single import start_of

_NUMBER = re.compile(r"_session_(\d+)\.jsonl")
_IMAGE = re.compile(r"(?!\.)[^/\\\0]{1,200}")
_NO_LINE = frozenset({types.CHECKPOINT, types.SIDECHAIN, types.RECOVERY})
"""Events around the conversation that the format has no line for."""
_HINTS = {types.ASSISTANT: "record it as `thinking`, or in `native`: here the agent acts, it does not speak"}


class Adr029(Dialect):
    """`<image_id>/sessions/YYYY-MM-DDTHH-MM-SS_session_NNN.jsonl`."""

    name = "adr029"
    resumes_in_place = True

    def place(self, root: Path, header: Event) -> Path:
        folder = root / image_folder(mapping(header.payload).get("image_id")) / "sessions"
        used = [int(found[1]) for path in folder.glob("*.jsonl") if (found := _NUMBER.search(path.name))]
        started = mapping(header.payload).get("start_ts") or header.ts
        return folder / file_name(started, max(used, default=0) + 1)

    def folder(self, root: Path) -> Path:
        return root

    def lines(self, events: Sequence[Event]) -> list[Written]:
        return [Written(codec.encode(line)) for event in events if (line := _line(event))]

    def events(self, line: bytes) -> list[Event]:
        return [told.event(mapping(codec.loads(line)))]

    def identify(self, line: bytes) -> None:
        return None


def image_folder(image_id: Any) -> str:
    """The folder of an image. Raises ValueError for an id that cannot be one."""
    if not isinstance(image_id, str) or not _IMAGE.fullmatch(image_id):
        raise ValueError("a session of this format belongs to an image: give its `image_id`, the name of its folder")
    return image_id


def file_name(started: str, number: int) -> str:
    """The name of a session's file; its time is UTC."""
    return f"{start_of(started):%Y-%m-%dT%H-%M-%S}_session_{number:03d}.jsonl"


def _line(event: Event) -> dict[str, Any] | None:
    if event.type in _NO_LINE:
        return None
    payload = mapping(event.payload)
    type_, said = _own(event, payload)
    payloads.validate(type_, said)
    if type_ == payloads.HEADER:
        return {"type": type_} | said
    return {"type": type_, "timestamp": event.ts} | said


def _own(event: Event, payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Type and payload in the words of the format."""
    match event.type:
        case types.HEADER:
            return payloads.HEADER, _header(event, payload)
        case types.USER:
            return "photographer_message", _named(payload, text="text")
        case types.THINKING:
            return "agent_thinking", _named(payload, text="text")
        case types.TOOL_CALL:
            return "agent_tool_call", _named(payload, name="tool", input="parameters", id="call_id")
        case types.TOOL_RESULT:
            return "tool_result", _result(payload)
        case types.TERMINATOR:
            return payloads.END, {name: value for name, value in payload.items() if name != "end_ts"}
        case type_ if type_ in payloads.EVENTS:
            return type_, payload
        case type_:
            hint = _HINTS.get(type_, "record it in `native`")
            raise Unsupported(f"the format `adr029` has no event for {type_!r}", hint)


def _header(event: Event, payload: dict[str, Any]) -> dict[str, Any]:
    """The fields of the decision record; what the harness did not tell is null."""
    said: dict[str, Any] = {"agent_provider": payload.get("model"), "agent_temperature": None, "context_loaded": []}
    said |= {"started_at": payload.get("start_ts") or event.ts, "starting_snapshot_hash": None} | payload
    return {name: said[name] for name in payloads.Header.__struct_fields__ if name in said}


def _result(payload: dict[str, Any]) -> dict[str, Any]:
    """The return value; that the call failed is said only where it did."""
    said = _named({"output": None} | payload, name="tool", id="call_id", output="result")
    if not said.get("is_error"):
        said.pop("is_error", None)
    return said


def _named(payload: dict[str, Any], **names: str) -> dict[str, Any]:
    """The payload with the format's names first, and whatever else it says; only a value itself may be null."""
    said = {own: payload[name] for name, own in names.items() if name in payload}
    known = {own: value for own, value in said.items() if value is not None or own in ("parameters", "result")}
    return known | {name: value for name, value in payload.items() if name not in names and value is not None}
