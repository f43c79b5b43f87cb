"""What each line of a pi session says, told without the reader: the yardstick of `check`.

Entries of version 1 have no ids and get some when they are written, so what is said goes by its speaker and its time;
results go by their call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.sources.base import Claim

_ABOUT = (("model", "model"), ("usage", "usage"), ("responseId", "message id"))


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one line; an entry that is no part of the conversation is one claim by its type."""
    try:
        entry = mapping(codec.loads(line))
    except ValueError:
        return
    kind, id_ = str(entry.get("type")), entry.get("id")
    if isinstance(id_, str) and kind != "session":
        yield Claim(id_, "id", id_)
        yield Claim(id_, "parent", entry.get("parentId"))
    message = mapping(entry.get("message"))
    key = f"{message.get('role') or kind} {entry.get('timestamp') or id_}"
    if kind == "message" and message:
        yield from _message(key, message, entry)
    elif kind in ("compaction", "branch_summary"):
        yield Claim(key, "text", entry.get("summary"))
    elif kind == "custom_message":
        yield from _words(key, entry.get("content"))
    elif entry:
        yield Claim(f"{kind} {hash(line)}", f"record: {kind}")


def _message(key: str, message: dict[str, Any], entry: dict[str, Any]) -> Iterator[Claim]:
    match message.get("role"):
        case "user":
            yield from _content(key, message.get("content"), "text")
        case "assistant":
            yield from _content(key, message.get("content"), "text")
            for name, field in _ABOUT:
                if message.get(name) is not None:
                    yield Claim(key, field, message[name])
            if message.get("errorMessage"):
                yield Claim(f"{key} error", "text", message["errorMessage"])
        case "toolResult":
            key = f"result of {message.get('toolCallId')}"
            yield Claim(key, "error flag", message.get("isError"))
            yield from _content(key, message.get("content"), "tool output")
        case "bashExecution":
            yield Claim(key, "tool input", {"command": message.get("command")})
            yield Claim(key, "tool output", message.get("output"))
        case "custom" | "hookMessage":
            key = key.replace("hookMessage", "custom", 1)  # as version 3 calls it, in which every session is written
            yield from _words(key, message.get("content"))
        case role:
            yield Claim(f"{key} {hash(codec.encode(message))}", f"record: message {role}")
            return
    if entry.get("timestamp"):
        yield Claim(key, "time", entry["timestamp"])


def _content(key: str, content: Any, field: str) -> Iterator[Claim]:
    if isinstance(content, str):
        yield Claim(f"{key}.0", field, content)
        return
    for number, part in enumerate(cast("list[Any]", content) if isinstance(content, list) else []):
        yield from _part(f"{key}.{number}", part, field)


def _part(key: str, part: Any, field: str) -> Iterator[Claim]:
    fields = mapping(part)
    match fields.get("type"):
        case "text":
            yield Claim(key, field, fields.get("text"))
        case "thinking":
            yield Claim(key, "thinking", fields.get("thinking"))
            if fields.get("thinkingSignature"):
                yield Claim(key, "signature", fields["thinkingSignature"])
        case "toolCall":
            yield Claim(key, "tool call", (fields.get("id"), fields.get("name")))
            yield Claim(key, "tool input", fields.get("arguments"))
        case "image":
            yield Claim(key, "image", fields.get("data"))
        case kind:
            yield Claim(key, f"part: {kind}", part)


def _words(key: str, content: Any) -> Iterator[Claim]:
    """What an extension says stands as one text, whatever parts it has."""
    if isinstance(content, list):
        words = (mapping(part).get("text") for part in cast("list[Any]", content))
        content = "\n\n".join(word for word in words if isinstance(word, str) and word)
    if content:
        yield Claim(key, "text", content)
