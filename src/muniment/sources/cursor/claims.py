"""What each line says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.sources.base import Claim

_THOUGHTS = ("reasoning", "thinking")


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one line."""
    try:
        said = codec.mapping(codec.loads(line))
    except ValueError:
        return
    key = hashlib.sha256(line).hexdigest()[:16]
    message = codec.mapping(said.get("message"))
    role = said.get("role") or message.get("role")
    if "raw" in said:
        yield from _plain(key, str(said.get("kind")), str(said["raw"]))
    elif role in ("user", "assistant", "tool") and not said.get("left"):
        if isinstance(said.get("id"), str):
            yield Claim(key, "id", said["id"])
        content = message.get("content")
        listed = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
        for number, part in enumerate(cast("list[Any]", listed) if isinstance(listed, list) else ()):
            yield from _part(f"{key}.{number}", codec.mapping(part), role == "user")
    else:
        yield Claim(key, f"record: {said.get('type') or role or 'about'}")


def _part(key: str, part: dict[str, Any], human: bool) -> Iterator[Claim]:
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        yield from _text(key, part["text"], human)
    elif kind in _THOUGHTS:
        yield Claim(key, "thinking", part.get("text") or part.get("thinking") or "")
        if part.get("signature"):
            yield Claim(key, "signature", part["signature"])
    elif kind in ("tool_use", "tool-call"):
        yield Claim(key, "tool input", part.get("input", part.get("args")))
        if own := part.get("id") or part.get("toolCallId"):
            yield Claim(key, "tool call", [own, part.get("name") or part.get("toolName")])
    elif kind == "tool-result" and part.get("toolCallId"):
        result = part.get("result", part.get("output"))
        yield Claim(key, "tool output" if isinstance(result, str) else "part: result", result)
    elif isinstance(given := part.get("image") or part.get("data"), str) and given.startswith("data:"):
        yield Claim(key, "image", given.partition(";base64,")[2])
    elif kind != "redacted-reasoning":
        yield Claim(key, f"part: {kind or 'part'}", part)


def _text(key: str, words: str, human: bool) -> Iterator[Claim]:
    tagged = words.split("<user_query>")[1:] if human else []
    queries = [piece.partition("</user_query>")[0].strip("\r\n") for piece in tagged if "</user_query>" in piece]
    for number, query in enumerate(queries):
        yield Claim(f"{key} {number}", "text", query)
    if not queries and not (human and words.lstrip().startswith("<")):
        yield Claim(key, "text", words)


def _plain(key: str, kind: str, raw: str) -> Iterator[Claim]:
    first, _, rest = raw.partition("\n")
    if kind == "user":
        yield from _text(key, rest.strip("\r\n"), True)
    elif kind == "assistant" and rest.strip("\r\n"):
        yield Claim(key, "text", rest.strip("\r\n"))
    elif kind == "thinking":
        yield Claim(key, "thinking", raw.removeprefix("[Thinking]").strip())
    elif kind == "result":
        yield Claim(key, "tool output", raw.removeprefix("[Tool result]").strip("\r\n").strip())
    elif kind == "call":
        yield Claim(key, "tool input", {"text": raw.strip().partition("\n")[2]})
    else:
        yield Claim(key, f"record: {first}")
