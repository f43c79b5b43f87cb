"""What each event says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.sources.base import Claim

_WORDS = {"user": "text", "assistant": "text", "thinking": "thinking", "summary": "text"}


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one event; one that is no part of the conversation is one claim by its type."""
    try:
        event = mapping(codec.loads(line))
    except ValueError:
        return
    kind, key, payload = str(event.get("type")), str(event.get("uuid")), mapping(event.get("payload"))
    found = list(_said(key, kind, payload))
    if not found:
        if event:
            yield Claim(f"{kind} {hash(line)}", f"record: {kind}")
        return
    for field, name in (("id", "uuid"), ("time", "ts"), ("parent", "prev_uuid")):
        yield Claim(key, field, event.get(name))
    yield from found


def _said(key: str, kind: str, payload: dict[str, Any]) -> Iterator[Claim]:
    if kind in _WORDS:
        yield from _words(key, payload, _WORDS[kind])
        for field in ("model", "usage", "signature"):
            if payload.get(field) is not None:
                yield Claim(key, field, payload[field])
    elif kind == "tool_call":
        yield Claim(key, "tool call", (payload.get("id"), payload.get("name")))
        yield Claim(key, "tool input", payload.get("input"))
    elif kind == "tool_result":
        yield Claim(key, "error flag", payload.get("is_error"))
        output = payload.get("output")
        yield from _words(key, {"text": output} if isinstance(output, str) else {"content": output}, "tool output")


def _words(key: str, payload: dict[str, Any], field: str) -> Iterator[Claim]:
    text, content = payload.get("text"), payload.get("content")
    if isinstance(text, str):
        yield Claim(key, field, text)
        return
    for number, part in enumerate(cast("list[Any]", content) if isinstance(content, list) else []):
        fields = mapping(part)
        if fields.get("type") == "text" and isinstance(fields.get("text"), str):
            yield Claim(f"{key} {number}", field, fields["text"])
        elif fields.get("type") == "image" and isinstance(fields.get("data"), str):
            yield Claim(f"{key} {number}", "image", fields["data"])
