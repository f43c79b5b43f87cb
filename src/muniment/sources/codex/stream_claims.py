"""What each line of a stream says, told without the reader: the yardstick of `check`.

What is said names itself here as it does in a rollout, because a stream is written as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.sources.base import Claim

_EVENT = re.compile(rb'\s*\{\s*"type"\s*:\s*"(?:thread|turn|item)\.[a-z.]+"')
_ASKED = {"command_execution": "command", "file_change": "changes"}


def event_of(line: bytes) -> dict[str, Any] | None:
    """The event of a line of a stream; None for what else a line may be."""
    try:
        return mapping(codec.loads(line)) if _EVENT.match(line) else None
    except ValueError:
        return None


def claims(event: dict[str, Any], line: bytes) -> Iterator[Claim]:
    """The claims of one event; one that is no part of the conversation is one claim by its kind."""
    found = list(_said(event["type"], mapping(event.get("item")), mapping(event.get("usage"))))
    yield from found or [Claim(f"{event['type']} {hash(line)}", f"record: {event['type']}")]


def _said(event: str, item: dict[str, Any], usage: dict[str, Any]) -> Iterator[Claim]:
    kind, words = item.get("type"), item.get("text")
    if event == "turn.completed" and usage:
        yield Claim(f"usage {codec.encode(usage).decode()}", "usage", usage)
    elif event == "item.completed" and isinstance(words, str) and kind in ("agent_message", "plan"):
        yield Claim(f"assistant {codec.encode(words).decode()}", "text", words)
    elif event == "item.completed" and isinstance(words, str) and kind == "reasoning":
        yield Claim(f"reasoning None {words}", "thinking", words)
    elif event in ("item.started", "item.completed") and isinstance(item.get("id"), str):
        yield from _call(item["id"], item, event == "item.completed")


def _call(own: str, item: dict[str, Any], over: bool) -> Iterator[Claim]:
    kind, name = str(item.get("type")), str(item.get("type"))
    given = {_ASKED[kind]: item.get(_ASKED[kind])} if kind in _ASKED else None
    if kind == "mcp_tool_call" and item.get("server") and item.get("tool"):
        name, given = f"mcp__{item['server']}__{item['tool']}", mapping(item.get("arguments"))
    if given is not None:
        yield Claim(own, "tool call", (own, name, codec.encode(given).decode()))
        yield Claim(own, "tool input", given)
    output, code = item.get("aggregated_output"), item.get("exit_code")
    if over and isinstance(output, str) and isinstance(code, int):
        yield Claim(f"output of {own}", "tool output", f"Exit code: {code}\nOutput:\n{output}")
    for number, part in enumerate(_content(item) if over else []):
        words = mapping(part).get("text")
        field = "tool output" if isinstance(words, str) else f"part: {mapping(part).get('type')}"
        yield Claim(f"output of {own}.{number}", field, words if isinstance(words, str) else part)


def _content(item: dict[str, Any]) -> list[Any]:
    content = mapping(item.get("result")).get("content")
    return cast("list[Any]", content) if isinstance(content, list) else []
