"""What each event says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.sources.base import Claim
from muniment.sources.recorded import claims as claims_of

_WORDS = {"user": "text", "assistant": "text", "thinking": "thinking", "summary": "text"}


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one event; one that is no part of the conversation is one claim by its type."""
    try:
        event = mapping(codec.loads(line))
    except ValueError:
        return
    kind, key, payload = str(event.get("type")), str(event.get("uuid")), event.get("payload")
    found = list(_said(key, kind, payload))
    if not found:
        if event:
            yield Claim(f"{kind} {hash(line)}", f"record: {kind}")
        return
    for field, name in (("id", "uuid"), ("time", "ts"), ("parent", "prev_uuid")):
        yield Claim(key, field, event.get(name))
    yield from found


def _said(key: str, kind: str, payload: Any) -> Iterator[Claim]:
    if kind in _WORDS:
        yield from claims_of.words(key, payload, _WORDS[kind])
        about = mapping(payload)
        for field in ("model", "usage", "signature"):
            if about.get(field) is not None:
                yield Claim(key, field, about[field])
    elif kind == "tool_call":
        yield from claims_of.call(key, payload)
    elif kind == "tool_result":
        yield Claim(key, "error flag", mapping(payload).get("is_error"))
        yield from claims_of.output(key, payload)
