"""What each line of a rollout says, told without the reader: the yardstick of `check`.

Items carry no ids, so what is said names itself: a text is the same text wherever it stands. Calls and outputs go
by their call id, tokens by their figures: a report repeats itself whenever a limit has moved. Events that repeat an
item are claims of no conversation.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.sources.base import Claim
from muniment.sources.codex import chats, items, prompts, stream_claims
from muniment.sources.codex.records import BYTE_ORDER_MARK, ENVELOPES, Line, listing, text

_REPEATED = ("agent_message", "user_message", "agent_reasoning")
_REPORTS = ("token_count", "token_usage_record")


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one line; a record that is no part of the conversation is one claim by its kind."""
    if (event := stream_claims.event_of(line)) is not None:
        yield from stream_claims.claims(event, line)
        return
    record = _record(line)
    if record is None:
        return
    kind, payload = record.kind, record.payload
    if record.type == "response_item":
        for item in chats.apart(record):
            yield from _item(item, line)
    elif record.type == "compacted" and (message := text(payload, "message")):
        yield Claim(f"compacted {message}", "text", message)
    elif kind == "turn_context" and (model := text(payload, "model")):
        yield Claim(f"model {model}", "model", model)
    elif kind in _REPEATED:
        yield Claim(f"{kind} {payload.get('message') or payload.get('text')}", f"record: {kind}")
    else:
        if kind in _REPORTS:
            yield from _usage(payload)
        yield Claim(f"{kind} {hash(line)}", f"record: {kind}")


def _record(line: bytes) -> Line | None:
    """What a line holds, in the envelope that items of old files do not have."""
    try:
        fields = mapping(codec.loads(line.removeprefix(BYTE_ORDER_MARK)))
    except ValueError:
        return None
    kind = text(fields, "type")
    if "payload" in fields or kind in ENVELOPES:
        return Line(kind or "", mapping(fields.get("payload")), text(fields, "timestamp"))
    if kind or text(fields, "role"):
        return Line("response_item", {"type": "message"} | fields)
    return Line(text(fields, "record_type") or "session_meta", fields) if fields else None


def _usage(payload: dict[str, Any]) -> Iterator[Claim]:
    """What a report says of one response; limits and running totals beside it are no part of the conversation."""
    said = mapping(payload.get("usage")) or mapping(mapping(payload.get("info")).get("last_token_usage"))
    if said:
        yield Claim(f"usage {codec.encode(said).decode()}", "usage", said)
    if said and (response := text(payload, "response_id")):
        yield Claim(response, "message id", response)


def _item(record: Line, line: bytes) -> Iterator[Claim]:
    kind, payload = record.kind, record.payload
    if kind == "message":
        yield from _message(record, line)
    elif kind == "reasoning":
        yield from _reasoning(record)
    elif kind in items.INPUT_OF and (call_id := text(payload, "call_id")):
        given = payload.get(items.INPUT_OF[kind])
        yield Claim(call_id, "tool call", (call_id, text(payload, "name"), given))
        yield Claim(call_id, "tool input", _parsed(given) if kind == "function_call" else given)
        yield from _time(call_id, record)
    elif kind in items.OUTPUT_OF and (call_id := text(payload, "call_id")):
        yield from _parts(f"output of {call_id}", payload.get("output"), "tool output")
        yield from _time(f"output of {call_id}", record)
    else:
        yield Claim(f"{kind} {hash(line)}", f"record: {kind}")


def _message(record: Line, line: bytes) -> Iterator[Claim]:
    role = text(record.payload, "role")
    kind = prompts.injected_kind(record.payload)
    if role not in ("user", "assistant") or (kind and kind not in prompts.REMEMBERED):
        yield Claim(f"{role} {hash(line)}", f"record: {kind or role}")
        return
    for claim in _parts("", record.payload.get("content"), "text"):
        key = f"{role} {codec.encode(claim.value).decode()}"
        yield Claim(key, claim.field if not kind else f"record: {kind}", claim.value)
        yield from _time(key, record)


def _time(key: str, record: Line) -> Iterator[Claim]:
    """Bare items tell no time."""
    if record.timestamp:
        yield Claim(key, "time", record.timestamp)


def _reasoning(record: Line) -> Iterator[Claim]:
    said = [*listing(record.payload, "summary"), *listing(record.payload, "content")]
    words = "\n\n".join(part for entry in said if isinstance(part := mapping(entry).get("text"), str))
    sealed = text(record.payload, "encrypted_content")
    yield Claim(f"reasoning {sealed} {words}", "thinking", words)
    if sealed:
        yield Claim(f"reasoning {sealed} {words}", "signature", sealed)


def _parts(key: str, content: Any, field: str) -> Iterator[Claim]:
    if isinstance(content, str):
        yield Claim(key, field, content)
        return
    for number, part in enumerate(listing({"content": content}, "content")):
        fields = mapping(part)
        words = fields.get("refusal") if set(fields) == {"type", "refusal"} else fields.get("text")
        if isinstance(words, str):
            yield Claim(f"{key}.{number}", field, words)
        elif data := _image(fields):
            yield Claim(f"{key}.{number}", "image", data)
        else:
            yield Claim(f"{key}.{number}", f"part: {fields.get('type')}", part)


def _image(part: dict[str, Any]) -> str | None:
    """The data of an image that can be taken out and put back exactly."""
    data = (text(part, "image_url") or "").partition(";base64,")[2]
    try:
        exact = base64.b64encode(base64.b64decode(data, validate=True)).decode("ascii") == data
    except (binascii.Error, ValueError):
        return None
    return data if exact else None


def _parsed(given: Any) -> Any:
    try:
        value = codec.loads(given.encode()) if isinstance(given, str) else given
    except ValueError:
        return given
    return mapping(value) if isinstance(value, dict) else given
