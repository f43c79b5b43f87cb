"""What each node of a conversation says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.sources.base import Claim
from muniment.sources.chatgpt.told import asked, is_hidden, thought
from muniment.sources.history import time_of

_WORDS = {"code": "text", "execution_output": "text", "tether_quote": "text", "tether_browsing_display": "result"}


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one node; one that nobody was shown makes none of a conversation."""
    try:
        node = codec.mapping(codec.loads(line))
    except ValueError:
        return
    key, message = str(node.get("id")), codec.mapping(node.get("message"))
    if not message or is_hidden(message):
        yield Claim(key, "record: node" if "message" in node else "record: conversation")
        return
    yield from _about(key, node, message)
    if codec.mapping(message.get("author")).get("role") is None:
        yield Claim(key, "part: message", message)
        return
    role, recipient = codec.mapping(message.get("author")).get("role"), message.get("recipient")
    if role == "assistant" and recipient and recipient != "all":
        yield Claim(key, "tool call", [key, recipient])
        yield Claim(key, "tool input", asked(message))
    else:
        yield from _content(key, codec.mapping(message.get("content")), "tool output" if role == "tool" else "text")


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
            if isinstance(part, str) and part:
                yield Claim(f"{key}.{number}", field, part)
            elif not isinstance(part, str):
                yield Claim(f"{key}.{number}", f"part: {codec.mapping(part).get('content_type') or 'part'}", part)
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
