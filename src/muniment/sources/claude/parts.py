"""The parts of a message's content, as blocks and back.

A part is a dictionary with a `type`; any part of a foreign file may be anything. What a block cannot hold exactly
stays as it came, so that writing gives the very part again.
"""

from __future__ import annotations

import base64
from typing import Any, cast

from muniment.model import Block, Compaction, Event, Media, Ref, Text, Thinking, Tool, Unknown
from muniment.model.codec import mapping
from muniment.sources.base import MediaBytes
from muniment.sources.builder import RoundBuilder

SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
"""Calls that the service answers itself: their results stand in the same answer, as parts of a type of their own."""

# -- reading


def type_of(part: Any) -> Any:
    """What a part calls itself."""
    return mapping(part).get("type")


def plain(ref: Ref) -> Ref:
    """The place of content that is a string, not a list of parts."""
    return Ref(ref.offset, ref.length, ref.id, ref.parent, ref.at, plain=True)


def listed(content: str | list[Any] | None, ref: Ref) -> tuple[list[Any], Ref]:
    """The parts of a message's content, and their place."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}], plain(ref)
    return content or [], ref


def read(part: Any, ref: Ref, round_: RoundBuilder) -> Any:
    """One content part as a block."""
    if not isinstance(part, dict):
        return Unknown(kind="part", value=part, ref=ref)
    part = mapping(cast("Any", part))
    kind = part.get("type")
    if kind == "text" and isinstance(text := part.get("text"), str):
        return Text(text, ref)
    signature = part.get("signature")
    thinking = part.get("thinking", part.get("text"))  # as some other programs name it that write such files
    if kind == "thinking" and isinstance(thinking, str) and isinstance(signature, str | None):
        return Thinking(thinking, signature, ref=ref)
    if kind == "redacted_thinking" and isinstance(data := part.get("data"), str):
        return Thinking("", data, redacted=True, ref=ref)
    if kind in ("image", "document") and (media := _media(part, ref, round_)):
        return media
    return Unknown(kind=str(kind), value=part, ref=ref)


def _media(part: dict[str, Any], ref: Ref, round_: RoundBuilder) -> Media | None:
    """An image or document that holds nothing but base64; anything richer stays as it came."""
    source = mapping(part.get("source"))
    if len(part) != 2 or source.get("type") != "base64" or set(source) != {"type", "media_type", "data"}:
        return None
    if not isinstance(data := source["data"], str) or not isinstance(media_type := source["media_type"], str):
        return None
    made = round_.add_media(data, media_type, ref)
    return made if isinstance(made, Media) else None


def is_call(part: Any) -> bool:
    """Whether a part calls a tool: one of the program's own, or one that the service runs, such as a web search."""
    fields = mapping(part)
    return fields.get("type") == "tool_use" or (
        fields.get("type") in SERVER_CALLS and isinstance(fields.get("id"), str)
    )


def is_server_result(part: Any) -> bool:
    """Whether a part of an answer is what a tool of the service gave back."""
    fields = mapping(part)
    kind = fields.get("type")
    known = isinstance(kind, str) and kind != "tool_result" and kind.endswith("_tool_result")
    return known and isinstance(fields.get("tool_use_id"), str)


def call_fields(part: dict[str, Any]) -> dict[str, Any]:
    """What a call of a service's tool says beside id, name and input, its type included; nothing of an ordinary one."""
    rest = {name: value for name, value in part.items() if name not in ("id", "name", "input")}
    return {} if part.get("type") == "tool_use" else rest


def output(part: Any, round_: RoundBuilder) -> Text | Media | Unknown:
    """What a tool gave back is text, media, or kept as it came; it carries no ref of its own."""
    block = read(part, Ref(), round_)
    known = isinstance(block, (Text, Media, Unknown))
    return block if known else Unknown(kind=str(type_of(part)), value=part)


def as_event(kind: str, part: Any, ref: Ref, round_: RoundBuilder, detail: Any = None) -> Block:
    """A part that no human wrote; only its words become an event."""
    block = read(part, ref, round_)
    return Event(kind=kind, text=block.text, detail=detail, ref=ref) if isinstance(block, Text) else block


def as_compaction(part: Any, ref: Ref, round_: RoundBuilder, detail: Any = None) -> Block:
    """A part of the summary that a conversation goes on from."""
    block = read(part, ref, round_)
    return Compaction(text=block.text, detail=detail, ref=ref) if isinstance(block, Text) else block


# -- writing


def written(block: Block, media: MediaBytes) -> Any:
    """A block of a message or an output as the part that it was."""
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Media():
            return _image(block, media)
        case Unknown(_, value):
            return value if value is not None else {"type": "text", "text": ""}
        case _:
            raise AssertionError(f"not a content part: {block!r}")


def _image(block: Media, media: MediaBytes) -> dict[str, Any]:
    data = base64.b64encode(media(block.name)).decode("ascii")
    kind = "image" if block.media_type.startswith("image/") else "document"
    return {"type": kind, "source": {"type": "base64", "media_type": block.media_type, "data": data}}


def thought(block: Thinking) -> dict[str, Any]:
    """Thinking with its signature; of what was withheld there is nothing else."""
    if block.redacted:
        return {"type": "redacted_thinking", "data": block.signature}
    signed = {} if block.signature is None else {"signature": block.signature}
    return {"type": "thinking", "thinking": block.text} | signed


def call(tool: Tool, fields: dict[str, Any]) -> dict[str, Any]:
    """A call, with what it said beside id, name and input (`call_fields`)."""
    return {"type": "tool_use", "id": tool.id, "name": tool.name, "input": tool.input} | fields


def server_result(tool: Tool) -> Any:
    """The part in which the service told what its tool gave back; None if it was no tool of the service."""
    value = tool.output[0].value if tool.output and isinstance(tool.output[0], Unknown) else None
    return value if is_server_result(value) else None


def result(tool: Tool, media: MediaBytes) -> dict[str, Any]:
    """What a tool gave back: one string where it was one, or, where nobody knows, if it is one text.

    Other agents have pictures and more texts beside a string."""
    given = tool.output or ()
    parts = [written(part, media) for part in given]
    one = len(given) < 2 and all(isinstance(part, Text) for part in given)
    as_string = one and (tool.result is None or tool.result.plain)
    content: Any = "".join(part.get("text", "") for part in parts) if as_string else parts
    part: dict[str, Any] = {"tool_use_id": tool.id, "type": "tool_result", "content": content}
    return part if tool.is_error is None else part | {"is_error": tool.is_error}
