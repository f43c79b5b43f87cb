"""What each line of a Claude Code file says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.sources.base import Claim

_PLACED = {"type", "uuid", "message", "timestamp", "parentUuid", "isSidechain", "sessionId"} | {
    "cwd",
    "version",
    "gitBranch",
}


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one line; a record that is no part of the conversation is one claim by its type."""
    try:
        record = mapping(codec.loads(line))
    except ValueError:
        return
    kind, key = str(record.get("type")), record.get("uuid")
    if kind not in ("user", "assistant") or not isinstance(key, str):
        if record:
            yield Claim(f"{kind} {hash(line)}", f"record: {kind}")
        return
    message = mapping(record.get("message"))
    yield Claim(key, "id", key)
    if isinstance(at := record.get("timestamp"), str | None):
        yield Claim(key, "time", at)
    yield Claim(key, "parent", record.get("parentUuid"))
    if kind == "assistant":
        for field, name, type_ in (("message id", "id", str), ("model", "model", str), ("usage", "usage", dict)):
            if isinstance(message.get(name), type_):
                yield Claim(key, field, message[name])
    yield from _content(key, message.get("content"))
    for name in record.keys() - _PLACED:
        yield Claim(key, f"field: {name}", record[name])


def _content(key: str, content: Any) -> Iterator[Claim]:
    if isinstance(content, str):
        yield Claim(f"{key} 0", "text", content)
        return
    parts = cast("list[Any]", content) if isinstance(content, list) else [] if content is None else [content]
    for number, part in enumerate(parts):
        yield from _part(f"{key} {number}", part)


def _part(key: str, part: Any) -> Iterator[Claim]:
    fields = mapping(part)
    match fields.get("type"):
        case "text":
            yield Claim(key, "text", fields.get("text"))
        case "thinking":
            yield Claim(key, "thinking", fields["thinking"] if "thinking" in fields else fields.get("text"))
            if fields.get("signature"):
                yield Claim(key, "signature", fields["signature"])
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            yield Claim(key, "tool call", (fields.get("id"), fields.get("name")))
            yield Claim(key, "tool input", fields.get("input"))
        case "tool_result":
            yield Claim(key, "result of", fields.get("tool_use_id"))
            yield Claim(key, "error flag", fields.get("is_error"))
            yield from _output(key, fields.get("content"))
        case "image" | "document" if _holds_bytes(data := mapping(fields.get("source")).get("data")):
            yield Claim(key, "image", data)
        case kind:
            yield Claim(key, f"part: {kind}", part)


def _holds_bytes(data: Any) -> bool:
    """Whether this is the one way to write some bytes in base64; anything else is shown as it came."""
    try:
        return bool(data) and base64.b64encode(base64.b64decode(data, validate=True)).decode() == data
    except (TypeError, ValueError):
        return False


def _output(key: str, content: Any) -> Iterator[Claim]:
    if isinstance(content, str):
        yield Claim(key, "tool output", content)
    elif isinstance(content, list):
        for number, part in enumerate(content):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            fields = mapping(part)
            if fields.get("type") == "text":
                yield Claim(f"{key}.{number}", "tool output", fields.get("text"))
            else:
                yield from _part(f"{key}.{number}", part)
