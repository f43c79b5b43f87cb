"""What an event says, as blocks: words, thoughts, pictures, and whatever else stands in its content."""

from __future__ import annotations

from typing import Any, cast

from muniment.model import Block, Media, Ref, Text, Thinking, Unknown, codec
from muniment.model import events as types
from muniment.model.codec import mapping
from muniment.model.events import Event
from muniment.sources.builder import RoundBuilder


def said(event: Event, ref: Ref, into: RoundBuilder) -> list[Block]:
    """The blocks of something that was said; an event that says nothing as it should is kept as it came."""
    payload = mapping(event.payload)
    text, content = types.words_of(event.payload), payload.get("content")
    if text is not None:
        return [_thought(payload, text, ref)] if event.type == types.THINKING else [Text(text, ref)]
    if isinstance(content, list):
        return [_part(part, ref, into) for part in cast("list[Any]", content)]
    return [Unknown(kind=event.type, value=event.payload, ref=ref)]


def output(value: Any, into: RoundBuilder) -> tuple[Text | Media | Unknown, ...]:
    """What a tool gave back: text, a list of parts, or any value, which is shown as JSON."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (Text(value),)
    given = cast("list[Any]", value) if isinstance(value, list) else []
    if not given or not all(isinstance(mapping(part).get("type"), str) for part in given):
        return (Text(_as_text(value)),)
    made = [(part, _part(part, Ref(), into)) for part in given]
    return tuple(b if isinstance(b, (Text, Media, Unknown)) else Unknown("part", part) for part, b in made)


def fields_shown(fields: dict[str, Any]) -> str:
    """What an event says beside the conversation, a line for each field: so it is seen, and found."""
    told = {name: value for name, value in fields.items() if value is not None}
    return "\n".join(f"- {name}: {_as_text(value)}" for name, value in told.items())


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else codec.encode(value).decode()


def _part(part: Any, ref: Ref, into: RoundBuilder) -> Block:
    fields = mapping(part)
    kind, text, thought = fields.get("type"), fields.get("text"), fields.get("thinking")
    if kind == "text" and isinstance(text, str):
        return Text(text, ref)
    if kind == "thinking" and isinstance(thought, str):
        return _thought(fields, thought, ref)
    return _media(fields, ref, into) or Unknown(kind=str(kind or "part"), value=part, ref=ref)


def _media(part: dict[str, Any], ref: Ref, into: RoundBuilder) -> Media | None:
    data = part.get("data")
    media_type = part.get("mime_type") or part.get("media_type") or part.get("mimeType")
    if not isinstance(data, str) or not isinstance(media_type, str):
        return None
    made = into.add_media(data, media_type, ref)
    return made if isinstance(made, Media) else None


def _thought(fields: dict[str, Any], text: str, ref: Ref) -> Thinking:
    signature = fields.get("signature")
    signed = signature if isinstance(signature, str) else None
    return Thinking(text, signed, fields.get("redacted") is True, ref)
