"""The content of a message to blocks, and what its metadata say of it."""

from __future__ import annotations

from typing import Any, cast

from muniment.model import Event, Ref, Text, Thinking, Unknown, codec
from muniment.sources.builder import quiet
from muniment.sources.chats import Part, entries, text, without

_UNFINISHED = {"interrupted": "The answer was interrupted.", "max_tokens": "The answer was cut off at its longest."}
SOUNDS = ("audio_asset_pointer", "real_time_user_audio_video_asset_pointer")
"""Parts of a talk that name a recording; what was spoken stands beside them as a transcription."""


def parts(content: dict[str, Any], ref: Ref) -> list[Part]:
    """What a content says."""
    kind = text(content, "content_type") or "content"
    if kind in ("text", "multimodal_text") and isinstance(content.get("parts"), list):
        return [_part(part, ref) for part in content["parts"] if part != ""]
    if kind == "thoughts":
        return [Thinking(thought(entry), ref=ref) for entry in entries(content, "thoughts")]
    if kind == "system_error":
        return [Event("error", text(content, "text") or "", without(content, "text", "content_type"), ref)]
    if kind in ("code", "execution_output", "tether_quote") and isinstance(content.get("text"), str):
        return [Text(content["text"], ref)]
    if kind == "tether_browsing_display" and isinstance(content.get("result"), str):
        return [Text(content["result"], ref)]
    return [Unknown(kind=kind, value=content, ref=ref)]


def _part(part: Any, ref: Ref) -> Text | Event | Unknown:
    if isinstance(part, str):
        return Text(part, ref)
    fields = codec.mapping(part)
    kind = text(fields, "content_type") or "part"
    spoken = fields.get("text") if kind == "audio_transcription" else None
    if spoken and isinstance(spoken, str):
        return Text(spoken, ref)
    return quiet(kind, ref, part) if kind in SOUNDS or spoken == "" else Unknown(kind=kind, value=part, ref=ref)


def thought(entry: dict[str, Any]) -> str:
    """A thought with its heading."""
    return "\n\n".join(words for name in ("summary", "content") if (words := text(entry, name)))


def given_back(part: Part) -> Text | Unknown:
    """A part as a tool gives it back; a quiet one must be there too."""
    if isinstance(part, (Text, Unknown)):
        return part
    words = getattr(part, "text", "")
    return Unknown(kind=part.kind, value=part.detail) if isinstance(part, Event) and not words else Text(words)


def asked(content: dict[str, Any]) -> Any:
    """What a tool was given: its words, as an object where they are one."""
    listed = content.get("parts")
    words = [part for part in cast("list[Any]", listed) if isinstance(part, str)] if isinstance(listed, list) else []
    said = content.get("text") if isinstance(content.get("text"), str) else "".join(words)
    try:
        value = codec.loads(cast("str", said).encode("utf-8", "surrogatepass"))
    except ValueError:
        return {"text": said}
    return codec.mapping(value) or {"text": said}


# -- metadata


def hits(about: dict[str, Any]) -> list[dict[str, Any]]:
    """What a search found: it stands beside a content that is empty. A group that has none is one itself."""
    groups = entries(about, "search_result_groups")
    return [found for group in groups for found in entries(group, "entries") or [group]]


def hit(entry: dict[str, Any]) -> str:
    """A page that was found, as far as it was shown to the model."""
    return "\n".join(words for name in ("title", "url", "snippet") if (words := text(entry, name)))


def unfinished(about: dict[str, Any]) -> str | None:
    """Why an answer ends where it does, if it is not at its end."""
    return _UNFINISHED.get(text(codec.mapping(about.get("finish_details")), "type") or "")
