"""What each line of an opencode session says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from muniment.model.codec import mapping
from muniment.sources import documents
from muniment.sources.base import Claim
from muniment.sources.opencode import flat_claims
from muniment.sources.opencode.records import is_unread, part_id


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one message, or of what stands around the messages."""
    if not line.strip():
        return
    try:
        kind, value = documents.decode(line)
    except ValueError:
        return
    info = mapping(value.get("info"))
    if kind != "entry":
        for name in info:
            yield Claim(name, f"record: session {name}")
        return
    if not info:
        yield from () if is_unread(value) else flat_claims.claims(value)
        return
    key = str(info.get("id"))
    for number, piece in enumerate(_entries(info, "parts")):
        yield from _early_part(mapping(piece), part_id(info.get("id"), number))
    held = [part for entry in _entries(value, "parts") if not is_unread(part := mapping(entry))]
    if info.get("role") == "user" and held and all(p.get("synthetic") or p.get("type") == "compaction" for p in held):
        yield Claim(key, "record: injected message")
        return
    told = mapping(info.get("metadata")) if "parts" in info else {}
    yield from _about(key, info | told | mapping(told.get("assistant")))
    for part in held:
        yield from _part(part, str(part.get("id")))


def _about(key: str, info: dict[str, Any]) -> Iterator[Claim]:
    yield Claim(key, "message id", info.get("id"))
    yield Claim(key, "time", mapping(info.get("time")).get("created"))
    for field, name in (("parent", "parentID"), ("model", "modelID"), ("usage", "tokens")):
        if name in info:
            yield Claim(key, field, info[name])
    if "error" in info:
        yield Claim(key, "record: error")


def _part(part: dict[str, Any], key: str) -> Iterator[Claim]:
    kind = part.get("type")
    if kind == "text" and part.get("text") and not part.get("synthetic"):
        yield Claim(key, "text", part["text"])
    elif kind == "reasoning" and (part.get("text") or part.get("metadata")):
        yield Claim(key, "thinking", part.get("text") or "")
        if "metadata" in part:
            yield Claim(key, "signature", part["metadata"])
    elif kind == "tool":
        yield from _tool(part, key)
    elif kind == "file":
        yield from _file(part, key)
    else:
        yield Claim(key, f"record: {'synthetic text' if part.get('synthetic') else kind}")
        return
    yield Claim(key, "id", key)


def _early_part(part: dict[str, Any], key: str) -> Iterator[Claim]:
    """A part of an earliest message, in the message itself."""
    call = mapping(part.get("toolInvocation"))
    if not call:
        given = {"metadata": part["providerMetadata"]} if "providerMetadata" in part else {}
        yield from _part(part | given, key)
        return
    status = {"result": "completed", "call": "running"}.get(str(call.get("state")), "pending")
    yield Claim(key, "tool call", [call.get("toolCallId"), call.get("toolName"), status])
    yield Claim(key, "tool input", call.get("args"))
    if "result" in call:
        yield Claim(key, "tool output", call["result"])


def _tool(part: dict[str, Any], key: str) -> Iterator[Claim]:
    state = mapping(part.get("state"))
    yield Claim(key, "tool call", [part.get("callID"), part.get("tool"), state.get("status")])
    yield Claim(key, "tool input", state.get("input"))
    if state.get("status") == "error":
        yield Claim(key, "tool output", state.get("error"))
    elif "output" in state:
        yield Claim(key, "tool output", state["output"])
    for number, file in enumerate(_entries(state, "attachments")):
        yield from _file(mapping(file), f"{key}.{number}")


def _file(part: dict[str, Any], key: str) -> Iterator[Claim]:
    scheme, comma, data = str(part.get("url")).partition(";base64,")
    if comma and scheme.startswith("data:"):
        yield Claim(key, "image", data)
    else:
        yield Claim(key, "part: file", part.get("url"))


def _entries(fields: dict[str, Any], name: str) -> list[Any]:
    value = fields.get(name)
    return cast("list[Any]", value) if isinstance(value, list) else []
