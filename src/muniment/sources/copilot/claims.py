"""What each line of a Copilot session says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muniment.model import codec
from muniment.sources.base import Claim
from muniment.sources.copilot import timeline_claims

_SAID = ("user.message", "assistant.message", "tool.execution_complete", "session.compaction_complete")


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one event; one that is no part of the conversation is a claim by its kind."""
    try:
        event = codec.mapping(codec.loads(line.removeprefix(b",")))
    except ValueError:
        return
    if "data" not in event and ("timestamp" in event or "role" in event):
        yield from timeline_claims.claims(event)
        return
    key, kind, data = str(event.get("id")), str(event.get("type")), codec.mapping(event.get("data"))
    injected = kind == "user.message" and data.get("source") and not event.get("agentId")
    if kind not in _SAID or injected:
        yield Claim(key, f"record: {kind}")
        return
    for field, name in (("id", "id"), ("parent", "parentId"), ("time", "timestamp")):
        if isinstance(event.get(name), str):
            yield Claim(key, field, event[name])
    if kind == "user.message":
        yield from _user(key, data)
    elif kind == "assistant.message":
        yield from _answer(key, data)
    elif kind == "tool.execution_complete":
        yield from _result(key, data)
    elif isinstance(data.get("summaryContent"), str):
        yield Claim(key, "text", data["summaryContent"])


def _user(key: str, data: dict[str, Any]) -> Iterator[Claim]:
    yield Claim(key, "text", data.get("content") or "")
    for number, entry in enumerate(_entries(data, "attachments")):
        yield from _piece(f"{key}.{number}", entry)


def _answer(key: str, data: dict[str, Any]) -> Iterator[Claim]:
    names = {"text": "content", "signature": "reasoningOpaque", "message id": "messageId", "model": "model"}
    for field, name in names.items():
        if data.get(name):
            yield Claim(key, field, data[name])
    if data.get("reasoningText") or data.get("reasoningOpaque"):
        yield Claim(key, "thinking", data.get("reasoningText") or "")
    else:
        yield from _blocks(key, _entries(codec.mapping(data.get("reasoningBlocks")), "blocks"))
    if type(tokens := data.get("outputTokens")) is int and 0 <= tokens < 1 << 53:
        yield Claim(key, "usage", tokens)
    for request in _entries(data, "toolRequests"):
        call = str(request.get("toolCallId"))
        yield Claim(call, "tool call", [call, request.get("name")])
        yield Claim(call, "tool input", request.get("arguments"))


def _blocks(key: str, told: list[dict[str, Any]]) -> Iterator[Claim]:
    for number, block in enumerate(told):
        sealed = block.get("signature") or block.get("data")
        if block.get("thinking") or sealed:
            yield Claim(f"{key}.{number}", "thinking", block.get("thinking") or "")
        if sealed:
            yield Claim(f"{key}.{number}", "signature", sealed)


def _result(key: str, data: dict[str, Any]) -> Iterator[Claim]:
    call = f"{data.get('toolCallId')}"
    result = codec.mapping(data.get("result"))
    said = result.get("content", codec.mapping(data.get("error")).get("message"))
    if isinstance(said, str):
        yield Claim(call, "tool output", said)
    for number, entry in enumerate(_entries(result, "contents")):
        if entry.get("type") != "text":
            yield from _piece(f"{key}.{number}", entry)
    if isinstance(data.get("success"), bool):
        yield Claim(call, "error flag", [call, not data["success"]])


def _piece(key: str, entry: dict[str, Any]) -> Iterator[Claim]:
    if entry.get("data") and entry.get("mimeType"):
        yield Claim(key, "image", entry["data"])
    else:
        yield Claim(key, f"part: {entry.get('type')}", entry)


def _entries(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = data.get(name)
    return [codec.mapping(entry) for entry in value] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]
