"""What each line says, told without the reader: the yardstick of `check`. Lines have no ids: a line names itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.sources.base import Claim


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one line; one that is no part of the conversation is one claim by its type."""
    try:
        said = mapping(codec.loads(line))
    except ValueError:
        return
    kind = said.get("type") or said.get("kind")
    key = f"{kind} {hashlib.sha256(line).hexdigest()[:16]}"
    found = list(_said(key, str(kind), said))
    if found:
        yield Claim(key, "time", said.get("timestamp"))
        yield from found
    elif said:
        yield Claim(key, f"record: {kind}")


def _said(key: str, kind: str, line: dict[str, Any]) -> Iterator[Claim]:
    match kind:
        case "photographer_message" if isinstance(line.get("text"), str):
            yield Claim(key, "text", line["text"])
        case "agent_thinking" if isinstance(line.get("text"), str):
            yield Claim(key, "text" if line.get("spoken") is True else "thinking", line["text"])
        case "agent_tool_call" | "tool_call":
            yield Claim(key, "tool call", line.get("tool"))
            yield Claim(key, "tool input", line.get("parameters", line.get("args")))
        case "tool_result":
            yield Claim(key, "error flag", line.get("is_error", line.get("success")))
            yield from _output(key, line.get("result", line.get("error_code")))
        case _:
            return


def _output(key: str, result: Any) -> Iterator[Claim]:
    if isinstance(result, str):
        yield Claim(key, "tool output", result)
    parts = cast("list[Any]", result) if isinstance(result, list) else []
    if parts and all(isinstance(mapping(part).get("type"), str) for part in parts):
        for number, part in enumerate(parts):
            if isinstance(words := mapping(part).get("text"), str):
                yield Claim(f"{key} {number}", "tool output", words)
