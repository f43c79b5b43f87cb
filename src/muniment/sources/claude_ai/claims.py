"""What each line of a conversation says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.sources.base import Claim
from muniment.sources.claude_ai.told import NO_MESSAGE, is_empty

_QUIET = ("token_budget", "flag")


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one message; what is known of the conversation is one of no conversation."""
    try:
        message = codec.mapping(codec.loads(line))
    except ValueError:
        return
    if message.get("sender") not in ("human", "assistant"):
        yield Claim("about", "record: conversation")
        return
    key = str(message.get("uuid"))
    for field, name in (("id", "uuid"), ("parent", "parent_message_uuid"), ("time", "created_at")):
        if isinstance(message.get(name), str) and message[name] not in ("", NO_MESSAGE):
            yield Claim(key, field, message[name])
    blocks = [block for block in map(codec.mapping, _listed(message, "content")) if not is_empty(block)]
    if not blocks and message.get("text"):
        yield Claim(key, "text", message["text"])
    for number, block in enumerate(blocks):
        yield from _block(f"{key}.{number}", block)
    for name, told in (("attachments", ("file_name", "extracted_content")), ("files", ("file_name",))):
        for number, entry in enumerate(_listed(message, name)):
            if words := _strings(codec.mapping(entry), *told):
                yield Claim(f"{key} {name} {number}", "text", "\n\n".join(words))


def _block(key: str, block: dict[str, Any]) -> Iterator[Claim]:
    kind = block.get("type") or "block"
    if kind in ("text", "thinking") and isinstance(block.get(kind), str):
        yield Claim(key, kind, block[kind])
        if kind == "thinking" and block.get("signature"):
            yield Claim(key, "signature", block["signature"])
    elif kind == "tool_use":
        yield Claim(key, "tool input", block.get("input"))
        if block.get("id"):
            yield Claim(key, "tool call", [block["id"], block.get("name")])
    elif kind == "tool_result":
        yield from _result(key, block)
    else:
        yield Claim(key, f"record: {kind}" if kind in _QUIET else f"part: {kind}", block)


def _result(key: str, block: dict[str, Any]) -> Iterator[Claim]:
    if isinstance(block.get("content"), str):
        yield Claim(key, "tool output", block["content"])
    for number, entry in enumerate(_listed(block, "content")):
        piece = codec.mapping(entry)
        if piece.get("type") == "text" and isinstance(piece.get("text"), str):
            yield Claim(f"{key}.{number}", "tool output", piece["text"])
        elif piece.get("type") == "knowledge" and (words := _strings(piece, "title", "url", "text")):
            yield Claim(f"{key}.{number}", "tool output", "\n".join(words))
        else:
            yield Claim(f"{key}.{number}", f"part: {piece.get('type') or 'content'}", piece)
    if isinstance(block.get("is_error"), bool) and block.get("tool_use_id"):
        yield Claim(key, "error flag", [block["tool_use_id"], block["is_error"]])


def _strings(fields: dict[str, Any], *names: str) -> list[str]:
    return [fields[name] for name in names if isinstance(fields.get(name), str) and fields[name]]


def _listed(fields: dict[str, Any], name: str) -> list[Any]:
    value = fields.get(name)
    return cast("list[Any]", value) if isinstance(value, list) else []
