"""What each node of a conversation says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.sources.base import Claim
from muniment.sources.chatgpt.order import HIDDEN, is_hidden
from muniment.sources.chatgpt.parts import SOUNDS, asked, hit, hits, thought, unfinished
from muniment.sources.history import time_of

_WORDS = {"code": "text", "execution_output": "text", "tether_quote": "text", "tether_browsing_display": "result"}


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one node; one that nobody was shown makes none of a conversation."""
    try:
        node = codec.mapping(codec.loads(line))
    except ValueError:
        return
    key, message = str(node.get("id")), codec.mapping(node.get("message"))
    role = codec.mapping(message.get("author")).get("role")
    if not message or (role is not None and _is_hidden(role, message)):
        yield Claim(key, "record: node" if "message" in node else "record: conversation")
        return
    yield from _about(key, node, message)
    if role is None:
        yield Claim(key, "part: message", message)
    else:
        yield from _said(key, role, message)


def _is_hidden(role: str, message: dict[str, Any]) -> bool:
    about, content = codec.mapping(message.get("metadata")), codec.mapping(message.get("content"))
    return is_hidden(role, content.get("content_type"), about.get(HIDDEN), message.get("weight"))


def _said(key: str, role: str, message: dict[str, Any]) -> Iterator[Claim]:
    content, recipient = codec.mapping(message.get("content")), message.get("recipient")
    if role == "assistant" and recipient and recipient != "all":
        yield Claim(key, "tool call", [key, recipient])
        yield Claim(key, "tool input", asked(content))
    else:
        yield from _content(key, content, "tool output" if role == "tool" else "text")
    about = codec.mapping(message.get("metadata"))
    if role == "tool":
        yield from _found(key, about)
    elif role == "assistant" and (how := unfinished(about)):
        yield Claim(f"{key} end", "text", how)


def _found(key: str, about: dict[str, Any]) -> Iterator[Claim]:
    for number, entry in enumerate(hits(about)):
        words = hit(entry)
        yield Claim(f"{key} hit {number}", "tool output" if words else "part: search_result", words or entry)


def _about(key: str, node: dict[str, Any], message: dict[str, Any]) -> Iterator[Claim]:
    yield Claim(key, "id", key)
    if isinstance(node.get("parent"), str) and node["parent"]:
        yield Claim(key, "parent", node["parent"])
    if at := time_of(message.get("create_time")):
        yield Claim(key, "time", at)
    role = codec.mapping(message.get("author")).get("role")
    if role == "assistant" and (model := codec.mapping(message.get("metadata")).get("model_slug")):
        yield Claim(key, "model", model)


def _content(key: str, content: dict[str, Any], field: str) -> Iterator[Claim]:
    kind = str(content.get("content_type") or "content")
    if kind in ("text", "multimodal_text") and isinstance(content.get("parts"), list):
        for number, part in enumerate(cast("list[Any]", content["parts"])):
            yield from _part(f"{key}.{number}", part, field)
    elif kind == "thoughts":
        entries = content.get("thoughts")
        for number, entry in enumerate(cast("list[Any]", entries) if isinstance(entries, list) else ()):
            said = thought(codec.mapping(entry))
            yield Claim(f"{key}.{number}", "thinking" if field == "text" else field, said)
    elif kind == "system_error":
        yield Claim(key, field, content.get("text") or "")
    elif kind in _WORDS and isinstance(content.get(_WORDS[kind]), str):
        yield Claim(key, field, content[_WORDS[kind]])
    else:
        yield Claim(key, f"part: {kind}", content)


def _part(key: str, part: Any, field: str) -> Iterator[Claim]:
    if isinstance(part, str):
        if part:
            yield Claim(key, field, part)
        return
    fields = codec.mapping(part)
    kind = fields.get("content_type") or "part"
    spoken = fields.get("text") if kind == "audio_transcription" else None
    if isinstance(spoken, str) and spoken:
        yield Claim(key, field, spoken)
    elif field == "text" and (kind in SOUNDS or spoken == ""):
        yield Claim(key, f"record: {kind}")
    else:
        yield Claim(key, f"part: {kind}", part)
