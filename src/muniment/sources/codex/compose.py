"""Blocks to the lines of a rollout: the reverse of `items`.

The lines are those of the legacy mode, which every client since the envelope resumes: no ordinals, no ids on items.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, cast

from muniment.model import Compaction, Media, Message, Text, Thinking, Tool, Unknown, Usage, codec
from muniment.sources.base import MediaBytes
from muniment.sources.codex import items
from muniment.sources.codex.tokens import usage_of

PHASES = ("commentary", "final_answer")
"""The client drops a message with any other phase, words and all."""

_STATUS = frozenset({"custom_tool_call", "local_shell_call", "web_search_call", "image_generation_call"})
"""Calls that say how far they came."""


def line(at: str, type_: str, payload: dict[str, Any]) -> bytes:
    """One record, with its newline."""
    return codec.encode({"timestamp": at, "type": type_, "payload": payload}) + b"\n"


def parts(
    blocks: Iterable[Text | Media | Unknown], media: MediaBytes, own: bool, details: dict[str, Any]
) -> list[dict[str, Any]]:
    """The parts of what a user says or a tool gives back; pictures keep the detail that their number had."""
    made = [part(block, media, own) for block in blocks]
    for number, detail in details.items():
        if number.isdecimal() and int(number) < len(made) and made[int(number)]["type"] == "input_image":
            made[int(number)] |= {"detail": detail}
    return made


def part(block: Text | Media | Unknown, media: MediaBytes, own: bool) -> dict[str, Any]:
    """One part; the client drops a message with a part it does not know."""
    if isinstance(block, Text):
        return {"type": "input_text", "text": block.text}
    if isinstance(block, Media):
        return _image(block.media_type, base64.b64encode(media(block.name)).decode("ascii"))
    value = codec.mapping(block.value)
    if {"media_type", "data"} == set(value):
        return _image(value["media_type"], value["data"])
    return value if own and "type" in value else {"type": "input_text", "text": codec.encode(block.value).decode()}


def _image(media_type: str, data: str) -> dict[str, Any]:
    return {"type": "input_image", "image_url": f"data:{media_type};base64,{data}"}


def said(block: Text, phase: str | None) -> dict[str, Any]:
    """A text of the model."""
    item: dict[str, Any] = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": block.text}],
    }
    return item | ({"phase": phase} if phase in PHASES else {})


def thought(block: Thinking) -> dict[str, Any]:
    """Reasoning of this provider."""
    summary = [{"type": "summary_text", "text": block.text}] if block.text else []
    item: dict[str, Any] = {"type": "reasoning", "summary": summary, "content": None}
    return item | ({"encrypted_content": block.signature} if block.signature else {})


def call(tool: Tool, note: dict[str, Any], media: MediaBytes) -> dict[str, Any]:
    """A call, in the kind that it had."""
    kind = str(note.get("type") or items.usual_kind(tool.input))
    given = tool.input
    if kind == "function_call":
        given = items.unparsed({} if given is None else given)
    item: dict[str, Any] = {"type": kind, "call_id": tool.id}
    if kind not in items.NAME_OF:
        item["name"] = tool.name
    if kind in items.UNANSWERED:
        del item["call_id"]
        item |= {} if tool.id.startswith(kind) else {"id": tool.id}
    if kind in _STATUS:
        item["status"] = "completed"
    if given is not None:
        item[items.INPUT_OF.get(kind, "input")] = given
    if kind == "image_generation_call" and tool.output:
        item["result"] = part(tool.output[0], media, True).get("image_url", "").partition(";base64,")[2]
    return item | note


def output(tool: Tool, note: dict[str, Any], media: MediaBytes, own: bool, details: dict[str, Any]) -> dict[str, Any]:
    """What a tool gave back: text as a string, anything more as parts."""
    kind = str(note.get("type") or items.usual_kind(tool.input))
    given = tool.output or ()
    if kind == "tool_search_call":
        return {
            "type": "tool_search_output",
            "call_id": tool.id,
            "tools": getattr(given[0] if given else None, "value", []),
        }
    type_ = "custom_tool_call_output" if kind == "custom_tool_call" else "function_call_output"
    return {"type": type_, "call_id": tool.id, "output": _given_back(tool, media, own, details)}


def _given_back(tool: Tool, media: MediaBytes, own: bool, details: dict[str, Any]) -> Any:
    given = tool.output or ()
    texts = [block.text for block in given if isinstance(block, Text)]
    if own and given and isinstance(given[0], Unknown) and given[0].kind == "output":
        return given[0].value
    listed = own and tool.result is not None and not tool.result.plain
    if listed or len(texts) < len(given):
        return parts(given, media, own, details)
    return "\n".join(texts)


def compacted(block: Compaction) -> dict[str, Any]:
    """A cut of the context; what was allowed before it is not said again."""
    history = codec.mapping(block.detail).get("replacement_history")
    payload: dict[str, Any] = {"message": block.text}
    if isinstance(history, list):
        payload["replacement_history"] = [item for item in cast("list[Any]", history) if not _is_grant(item)]
    return payload


def _is_grant(item: Any) -> bool:
    """Messages of the program itself tell the model what it may do; the client writes its own on resume."""
    return codec.mapping(item).get("role") in ("developer", "system")


def counted(message: Message, own: bool) -> dict[str, Any]:
    """The tokens of a response: as this provider said, else in its convention."""
    usage = message.usage or Usage()
    raw = codec.mapping(codec.mapping(message.raw).get("usage")) if own else {}
    return raw if raw and usage_of(raw) == usage else in_convention(usage)


def in_convention(usage: Usage) -> dict[str, Any]:
    """Tokens as this provider counts them: what was cached is part of the input."""
    whole = usage.input + usage.cache_read + usage.cache_write
    return {
        "input_tokens": whole,
        "cached_input_tokens": usage.cache_read,
        "cache_write_input_tokens": usage.cache_write,
        "output_tokens": usage.output,
        "reasoning_output_tokens": 0,
        "total_tokens": usage.total,
    }
