"""What each entry says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.sources.base import Claim
from muniment.sources.recorded.claims import call


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one entry; one that is no part of the conversation is one claim by its type."""
    try:
        entry = mapping(codec.loads(line))
    except ValueError:
        return
    kind, key, message = entry.get("type"), entry.get("id"), mapping(entry.get("message"))
    if kind == "compaction" and isinstance(summary := entry.get("summary"), str):
        yield Claim(f"{key}", "text", summary)
    elif kind != "message" or not message:
        if entry:
            yield Claim(f"{kind} {hash(line)}", f"record: {kind}")
        return
    for field, name in (("id", "id"), ("time", "timestamp"), ("parent", "parent_id")):
        yield Claim(f"{key}", field, entry.get(name))
    for field in ("model", "usage"):
        if message.get(field) is not None:
            yield Claim(f"{key}", field, message[field])
    yield from _content(f"{key}", message)


def _content(key: str, message: dict[str, Any]) -> Iterator[Claim]:
    is_result = message.get("role") == "tool_result"
    if is_result:
        yield Claim(key, "error flag", message.get("is_error"))
    content = message.get("content")
    if isinstance(content, str):
        yield Claim(key, "tool output" if is_result else "text", content)
    for number, part in enumerate(cast("list[Any]", content) if isinstance(content, list) else []):
        yield from _part(f"{key} {number}", mapping(part), "tool output" if is_result else "text")


def _part(key: str, part: dict[str, Any], words: str) -> Iterator[Claim]:
    match part.get("type"):
        case "text":
            yield Claim(key, words, part.get("text"))
        case "thinking":
            yield Claim(key, "thinking", part.get("thinking"))
        case "tool_call":
            yield from call(key, {name: value for name, value in part.items() if name != "type"})
        case "image" if isinstance(part.get("data"), str):
            yield Claim(key, "image", part["data"])
        case kind:
            yield Claim(key, f"part: {kind}", part)
