"""Items in the form of a chat: clients made for other providers wrote the messages of their API into the oldest files.

    {"role":"assistant","content":"","reasoning":"…","tool_calls":[{"id":"c1","function":{"name":"shell",…}}]}
    {"role":"tool","tool_call_id":"c1","content":"…"}

Such a message is what several items are in every other file, and is taken apart into them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muniment.model.codec import mapping
from muniment.sources.codex.records import Line, listing, text

_MARKS = frozenset({"tool_calls", "tool_call_id", "reasoning", "reasoning_content"})
"""Fields that only messages of a chat have."""


def apart(line: Line) -> Iterator[Line]:
    """The items that a record holds: itself, unless it is a message of a chat."""
    if line.kind != "message" or line.payload.keys().isdisjoint(_MARKS):
        yield line
        return
    for item in _items(line.payload):
        yield Line(line.type, item, line.timestamp, line.ordinal)


def _items(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if message.get("role") == "tool":
        yield _given_back(message)
        return
    calls = [_call(asked) for asked in listing(message, "tool_calls")]
    thought = text(message, "reasoning_content") or text(message, "reasoning")
    if thought:
        yield {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": thought}]}
    if message.get("content") or not (thought or calls):
        yield message
    yield from calls


def _call(asked: Any) -> dict[str, Any]:
    function = mapping(mapping(asked).get("function"))
    named = {"call_id": mapping(asked).get("id"), "name": function.get("name")}
    return {"type": "function_call", **named, "arguments": function.get("arguments")}


def _given_back(message: dict[str, Any]) -> dict[str, Any]:
    answered = {"call_id": message.get("tool_call_id"), "output": message.get("content")}
    return {"type": "function_call_output", **answered}
