"""What each line says, told without the reader: the yardstick of `check`. Lines have no ids: a line names itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.sources.base import Claim
from muniment.sources.recorded import claims as claims_of


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
            yield from claims_of.call(key, _without(line, "type", "kind", "timestamp"))
        case "tool_result":
            yield Claim(key, "error flag", line.get("is_error", line.get("success")))
            yield from claims_of.output(key, _result(line))
        case _:
            return


def _result(line: dict[str, Any]) -> dict[str, Any]:
    """The program tells whether a call succeeded, and gives back nothing else than the name of an error."""
    if isinstance(line.get("type"), str):
        return _without(line, "type", "timestamp")
    return {"output": line.get("error_code")} | _without(line, "kind", "timestamp", "error_code")


def _without(line: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name not in names}
