"""Blocks to parts of a message, the reverse of `parts`, and what the message says of itself.

Every field that `opencode import` asks for is there, also where the session came from another agent.
"""

from __future__ import annotations

import base64
from typing import Any

from muniment.model import Block, Compaction, Event, Media, Text, Thinking, Tool, Unknown, Usage, codec
from muniment.model.codec import mapping
from muniment.sources.base import MediaBytes
from muniment.sources.opencode.parts import QUIET

_PROVIDERS = (("claude", "anthropic"), ("gpt", "openai"), ("o", "openai"), ("gemini", "google"))
_INTERRUPTED = {"status": "pending", "raw": ""}


def part(block: Block, note: dict[str, Any], at: int, media: MediaBytes) -> dict[str, Any] | None:
    """A block as a part without its ids; None for one that is no part of a message here."""
    if isinstance(block, Text | Compaction):
        return {"type": "text", "text": block.text} | note
    if isinstance(block, Thinking):
        return {"type": "reasoning", "text": block.text, "time": {"start": at, "end": at}} | note
    if isinstance(block, Tool):
        return _tool(block, note, at, media)
    if isinstance(block, Media):
        return _file(block, media) | note
    if isinstance(block, Unknown):
        return _unknown(block, note)
    return _event(block)


def _event(block: Event) -> dict[str, Any] | None:
    """Parts that are events with us."""
    if block.kind == "ignored text":
        return {"type": "text", "text": block.text} | mapping(block.detail)
    if block.kind.startswith(QUIET):
        return {"type": block.kind.removeprefix(QUIET)} | mapping(block.detail)
    return None


def _unknown(block: Unknown, note: dict[str, Any]) -> dict[str, Any] | None:
    value = mapping(block.value)
    if block.kind == "media" and value.keys() == {"media_type", "data"}:
        return _data(str(value["media_type"]), str(value["data"])) | note
    return value if "type" in value else None


def _file(block: Media, media: MediaBytes) -> dict[str, Any]:
    return _data(*data(block, media))


def _data(media_type: str, content: str) -> dict[str, Any]:
    return {"type": "file", "mime": media_type, "url": url(media_type, content)}


def data(block: Media | Unknown, media: MediaBytes) -> tuple[str, str]:
    """Type and base64 of a file."""
    if isinstance(block, Media):
        return block.media_type, base64.b64encode(media(block.name)).decode("ascii")
    value = mapping(block.value)
    return str(value.get("media_type")), str(value.get("data"))


def url(media_type: str, content: str) -> str:
    """A file as an address that holds it."""
    return f"data:{media_type};base64,{content}"


def _tool(tool: Tool, note: dict[str, Any], at: int, media: MediaBytes) -> dict[str, Any]:
    """A call with its result; one that has none was interrupted."""
    said: dict[str, Any] = {"title": tool.name or "", "metadata": {}, "time": {"start": at, "end": at}}
    if tool.output is None:
        state = _INTERRUPTED | {"input": tool.input} | mapping(note.get("state"))
    else:
        state = _done(tool, said | mapping(note.get("state")), media) | {"input": tool.input}
    named = {"type": "tool", "callID": tool.id, "tool": tool.name or "unknown"}
    return named | {name: value for name, value in note.items() if name != "state"} | {"state": state}


def _done(tool: Tool, said: dict[str, Any], media: MediaBytes) -> dict[str, Any]:
    given = tool.output or ()
    words = "\n".join(block.text for block in given if isinstance(block, Text))
    odd = next((block.value for block in given if isinstance(block, Unknown) and block.kind == "output"), words)
    if tool.is_error:
        return said | {"status": "error", "error": odd}
    files = [made for block in given if (made := _attached(block, media))]
    kept = [mapping(entry) for entry in said.get("attachments", [])]
    kept += [{}] * (len(files) - len(kept))
    attached = [file | entry for file, entry in zip(files, kept, strict=False)]
    return said | {"status": "completed", "output": odd} | ({"attachments": attached} if attached else {})


def _attached(block: Text | Media | Unknown, media: MediaBytes) -> dict[str, Any] | None:
    if isinstance(block, Media):
        return _file(block, media)
    return _unknown(block, {}) if isinstance(block, Unknown) and block.kind != "output" else None


# -- what a message says of itself


def asked(model: str, at: int) -> dict[str, Any]:
    """A prompt, for a model that may have been another."""
    named = {"providerID": _provider(model), "modelID": model}
    return {"role": "user", "time": {"created": at}, "agent": "build", "model": named}


def answered(model: str, usage: Usage, at: int, cwd: str, calls: bool) -> dict[str, Any]:
    """An answer; what it answers is not said here."""
    return {
        "role": "assistant",
        "modelID": model,
        "providerID": _provider(model),
        "mode": "build",
        "agent": "build",
        "path": {"cwd": cwd, "root": cwd},
        "cost": 0,
        "tokens": tokens(usage),
        "time": {"created": at, "completed": at},
        "finish": "tool-calls" if calls else "stop",
    }


def _provider(model: str) -> str:
    return next((provider for name, provider in _PROVIDERS if model.startswith(name)), "unknown")


def tokens(usage: Usage) -> dict[str, Any]:
    """Tokens as opencode counts them."""
    cache = {"read": usage.cache_read, "write": usage.cache_write}
    return {"total": usage.total, "input": usage.input, "output": usage.output, "reasoning": 0, "cache": cache}


def line(value: dict[str, Any], first: bool) -> bytes:
    """One message, on a line of its own."""
    return (b"" if first else b",") + codec.encode(value) + b"\n"
