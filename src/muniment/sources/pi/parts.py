"""The parts of a message's content, as blocks and back.

A part is a dictionary with a `type`; any part of a foreign file may be anything. Fields that a block cannot hold
(signatures of texts and calls) are kept beside the message by the part's position.
"""

from __future__ import annotations

import base64
from typing import Any

from muniment.model import Block, Media, Ref, Text, Thinking, Tool, Unknown
from muniment.model.codec import mapping
from muniment.sources.base import MediaBytes
from muniment.sources.builder import Draft, RoundBuilder
from muniment.sources.pi.records import listing, rest, text

_TOLD = {
    "text": ("type", "text"),
    "thinking": ("type", "thinking", "thinkingSignature", "redacted"),
    "toolCall": ("type", "id", "name", "arguments"),
}
"""By type of part: the fields that a block holds."""

# -- reading


def plain(ref: Ref) -> Ref:
    """The place of content that is a string, not a list of parts."""
    return Ref(ref.offset, ref.length, ref.id, ref.parent, ref.at, plain=True)


def given(content: Any, ref: Ref, round_: RoundBuilder) -> list[Text | Media | Unknown]:
    """What a person says or a tool gives back."""
    if isinstance(content, str):
        return [Text(content, plain(ref))]
    parts = listing(content) if isinstance(content, list | None) else [content]
    return [_given(part, ref, round_) for part in parts]


def _given(part: Any, ref: Ref, round_: RoundBuilder) -> Text | Media | Unknown:
    fields = mapping(part)
    kind = fields.get("type")
    if kind == "text" and (words := text(fields, "text")) is not None:
        return Text(words, ref)
    data, media_type = text(fields, "data"), text(fields, "mimeType")
    if kind == "image" and data is not None and media_type is not None:
        return round_.add_media(data, media_type, ref)
    return Unknown(kind=str(kind), value=part, ref=ref)


def answered(content: Any, ref: Ref, round_: RoundBuilder, draft: Draft) -> dict[str, Any]:
    """The parts of an answer into its message; gives the fields that no block holds, by the part's position."""
    if isinstance(content, str):
        draft.blocks.append(Text(content, plain(ref)))
        return {}
    extras: dict[str, Any] = {}
    for number, part in enumerate(listing(content)):
        fields = mapping(part)
        block = _answered(fields, ref) or _given(part, ref, round_)
        if isinstance(block, Tool):
            round_.call(draft, block)
        else:
            draft.blocks.append(block)
        told = _TOLD.get(text(fields, "type") or "")
        if told and not isinstance(block, Unknown) and (more := rest(fields, *told)):
            extras[str(number)] = more
    return extras


def _answered(fields: dict[str, Any], ref: Ref) -> Thinking | Tool | None:
    kind, name = fields.get("type"), text(fields, "name")
    if kind == "toolCall" and name is not None and (id_ := text(fields, "id")) is not None:
        return Tool(id=id_, name=name, input=fields.get("arguments"), ref=ref)
    words, signature, redacted = text(fields, "thinking"), fields.get("thinkingSignature"), fields.get("redacted")
    if kind == "thinking" and words is not None and isinstance(signature, str | None):
        return Thinking(words, signature, redacted=redacted is True, ref=ref)
    return None


# -- writing


def written(block: Block, media: MediaBytes) -> dict[str, Any]:
    """A block as the part that it was, or as one that says the same."""
    match block:
        case Text(words):
            return {"type": "text", "text": words}
        case Media():
            return _image(base64.b64encode(media(block.name)).decode("ascii"), block.media_type)
        case Thinking():
            return _thought(block)
        case Tool():
            return call(block)
        case Unknown(kind="media") if (value := mapping(block.value)).keys() == {"media_type", "data"}:
            return _image(value["data"], value["media_type"])
        case _:
            return mapping(getattr(block, "value", None)) or {"type": "text", "text": ""}


def _image(data: Any, media_type: Any) -> dict[str, Any]:
    return {"type": "image", "data": data, "mimeType": media_type}


def _thought(block: Thinking) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "thinking", "thinking": block.text}
    part |= {"thinkingSignature": block.signature} if block.signature is not None else {}
    return part | ({"redacted": True} if block.redacted else {})


def call(tool: Tool) -> dict[str, Any]:
    """A tool call."""
    return {"type": "toolCall", "id": tool.id, "name": tool.name, "arguments": tool.input}
