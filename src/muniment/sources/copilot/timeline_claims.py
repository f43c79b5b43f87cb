"""What each entry of an old document says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.sources.base import Claim


def claims(entry: dict[str, Any]) -> Iterator[Claim]:
    """The claims of an entry of the timeline, or of a message; those without an id are named by a hash."""
    key = str(entry.get("id") or hashlib.sha256(codec.encode(entry)).hexdigest()[:16])
    kind = entry.get("type") or entry.get("role")
    if kind in ("user", "copilot", "assistant") and isinstance(words := _words(entry), str):
        yield from _about(key, entry)
        if words or kind == "user":
            yield Claim(key, "text", words)
        yield from _asked(entry)
    elif kind in ("tool_call_requested", "tool_call_completed"):
        yield from _about(key, entry)
        yield from _call(str(entry.get("callId")), entry)
    elif kind == "tool" and isinstance(entry.get("content"), str):
        yield Claim(str(entry.get("tool_call_id")), "tool output", entry["content"])
    else:
        yield Claim(key, f"record: {kind}")
    for number, image in enumerate(_listed(entry, "imageAttachments") if kind == "user" else []):
        yield _image(f"{key}.{number}", codec.mapping(image))


def _image(key: str, entry: dict[str, Any]) -> Claim:
    if entry.get("data") and entry.get("mimeType"):
        return Claim(key, "image", entry["data"])
    return Claim(key, f"part: {entry.get('type')}", entry)


def _words(entry: dict[str, Any]) -> Any:
    return entry.get("text", entry.get("content"))


def _about(key: str, entry: dict[str, Any]) -> Iterator[Claim]:
    for field, name in (("id", "id"), ("time", "timestamp")):
        if isinstance(entry.get(name), str):
            yield Claim(key, field, entry[name])


def _call(call: str, entry: dict[str, Any]) -> Iterator[Claim]:
    yield Claim(call, "tool call", [call, entry.get("name")])
    yield Claim(call, "tool input", entry.get("arguments"))
    result = codec.mapping(entry.get("result"))
    if isinstance(result.get("log"), str):
        yield Claim(call, "tool output", result["log"])
    if isinstance(result.get("type"), str):
        yield Claim(call, "error flag", [call, result["type"] != "success"])


def _asked(message: dict[str, Any]) -> Iterator[Claim]:
    for asked in _listed(message, "tool_calls"):
        function, call = codec.mapping(codec.mapping(asked).get("function")), str(codec.mapping(asked).get("id"))
        yield Claim(call, "tool call", [call, function.get("name")])
        try:
            given = json.loads(function["arguments"])
        except (KeyError, TypeError, ValueError):
            given = None
        yield Claim(call, "tool input", given if isinstance(given, dict) else function.get("arguments"))


def _listed(fields: dict[str, Any], name: str) -> list[Any]:
    value = fields.get(name)
    return cast("list[Any]", value) if isinstance(value, list) else []
