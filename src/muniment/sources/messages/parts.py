"""Parts of a content to blocks: those of Anthropic's messages and of both of OpenAI's APIs."""

from __future__ import annotations

import re
from typing import Any, cast

from muniment.model import Event, Ref, Text, Thinking, Tool, Unknown, codec
from muniment.sources.chats import Image, Part, Result, entries, text

_DATA = re.compile(r"data:([\w.+/-]+);base64,(.*)", re.DOTALL)
WORDS = ("text", "input_text", "output_text")
GIVEN_BACK = (*WORDS, "tool_output")
CALL = "tool_call"
"""A part as programs write it that turn the sessions of several agents into one form."""
REASONING = frozenset({"reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"})
"""Fields of a message that hold reasoning."""
_THOUGHTS = {"thinking": "thinking", "reasoning.text": "text", "reasoning.summary": "summary"}
_SEALED = ("redacted_thinking", "reasoning.encrypted")
"""Reasoning as Anthropic's API and OpenRouter tell it."""


def parts(content: Any, ref: Ref) -> list[Part]:
    """The pieces of a content, which may be a bare string."""
    if isinstance(content, str):
        return [Text(content, Ref(ref.offset, ref.length, ref.id, at=ref.at, plain=True))] if content else []
    if not isinstance(content, list):
        return [] if content is None else [Unknown(kind="content", value=content, ref=ref)]
    return [_part(entry, ref, number) for number, entry in enumerate(cast("list[Any]", content))]


def _part(entry: Any, ref: Ref, number: int) -> Part:
    part = codec.mapping(entry)
    kind = text(part, "type") or "part"
    if kind in WORDS and isinstance(part.get("text"), str):
        return Text(part["text"], ref)
    if kind == "refusal" and (refusal := text(part, "refusal")):
        return Event("refusal", refusal, ref=ref)
    if kind in _THOUGHTS and isinstance(words := part.get(_THOUGHTS[kind]), str):
        return Thinking(words, text(part, "signature"), ref=ref)
    if kind in _SEALED:
        return Thinking("", text(part, "data"), redacted=True, ref=ref)
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        call_id = text(part, "id") or f"call-{ref.offset}-{number}"
        return Tool(call_id, text(part, "name"), part.get("input"), ref=ref)
    if kind == CALL:
        call_id = text(part, "id", "tool_call_id") or f"call-{ref.offset}-{number}"
        return Tool(call_id, text(part, "name"), part["args"] if "args" in part else parsed(part), ref=ref)
    if kind.endswith("tool_result") and text(part, "tool_use_id"):
        failed = part.get("is_error")
        return Result(part["tool_use_id"], output(part.get("content")), failed if isinstance(failed, bool) else None)
    return image(part) or Unknown(kind=kind, value=entry, ref=ref)


def image(part: dict[str, Any]) -> Image | None:
    """An image or document that is there as data."""
    source = codec.mapping(part.get("source"))
    if source.get("type") == "base64" and (media_type := text(source, "media_type")) and (data := text(source, "data")):
        return Image(media_type, data)
    where = part.get("image_url")
    address = where if isinstance(where, str) else text(codec.mapping(where), "url")
    found = _DATA.fullmatch(address or text(part, "file_data") or "")
    return Image(found[1], found[2]) if found else None


def output(content: Any) -> tuple[Text | Unknown | Image, ...]:
    """What a tool gave back."""
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list):
        return () if content is None else (Unknown(kind="output", value=content),)
    return tuple(_given_back(entry) for entry in cast("list[Any]", content))


def _given_back(entry: Any) -> Text | Unknown | Image:
    part = codec.mapping(entry)
    if part.get("type") in GIVEN_BACK and isinstance(part.get("text"), str):
        return Text(part["text"])
    return image(part) or Unknown(kind=text(part, "type") or "part", value=entry)


def call(asked: dict[str, Any], otherwise: str, ref: Ref) -> Tool:
    """A call of the Chat API, to a function or to a tool with free input."""
    function = codec.mapping(asked.get("function")) or codec.mapping(asked.get("custom"))
    given = parsed(function) if "arguments" in function else function.get("input")
    return Tool(text(asked, "id") or otherwise, text(function, "name"), given, ref=ref)


def parsed(asked: dict[str, Any]) -> Any:
    """The arguments as an object; a string that is none stays as it is."""
    given = asked.get("arguments")
    try:
        value = codec.loads(given.encode("utf-8", "surrogatepass")) if isinstance(given, str) else given
    except ValueError:
        return given
    return codec.mapping(value) if isinstance(value, dict) else given


def thoughts(line: dict[str, Any], ref: Ref) -> list[Part]:
    """The reasoning beside an answer; routers give it as parts, too, and those are signed."""
    if REASONING.isdisjoint(line):
        return []
    made = [*parts(line.get("thinking_blocks"), ref), *parts(line.get("reasoning_details"), ref)]
    flat = text(line, "reasoning_content", "reasoning")
    shown = "".join(block.text for block in made if isinstance(block, Thinking))
    if not flat or "".join(flat.split()) == "".join(shown.split()):
        return made
    return [Thinking(flat, ref=ref), *made]


def reasoned(item: dict[str, Any]) -> str:
    """What the model lets be seen of its reasoning."""
    said = [*entries(item, "summary"), *entries(item, "content")]
    return "\n\n".join(words for entry in said if (words := text(entry, "text")))
