"""What each message or item says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, cast

from msgspec import structs

from muniment.model import codec
from muniment.sources.base import Claim
from muniment.sources.messages.stream import is_event
from muniment.sources.messages.told import usage_of

_WORDS = ("text", "input_text", "output_text")
_REASONED = ("thinking_blocks", "reasoning_details")


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one line; those without an id are named by a hash of what they say."""
    try:
        said = codec.mapping(codec.loads(line))
    except ValueError:
        return
    key, role = hashlib.sha256(line).hexdigest()[:16], said.get("role")
    if role in ("user", "assistant"):
        yield from _message(key, said)
    elif role in ("tool", "function"):
        yield from _pieces(key, said.get("content"), "tool output")
    elif is_event(said):
        yield Claim(key, f"record: {said['type']}")
        if said["type"] == "result" and said.get("is_error") is True and isinstance(said.get("result"), str):
            yield Claim(key, "text", said["result"] or said.get("subtype") or "result")
    elif said.get("type") == "response":
        yield from _about(key, said)
        yield Claim(key, "record: response")
    elif role or said.get("type") == "request":
        yield Claim(key, f"record: {role or said.get('type')}")
    else:
        yield from _item(key, said)


def _message(key: str, said: dict[str, Any]) -> Iterator[Claim]:
    yield from _pieces(key, said.get("content"), "text")
    if said.get("role") == "user":
        return
    if isinstance(said.get("id"), str) and said["id"]:
        yield Claim(key, "message id", said["id"])
    yield from _about(key, said)
    yield from _reasoning(f"{key} reasoning", said)
    if isinstance(said.get("refusal"), str) and said["refusal"]:
        yield Claim(f"{key} refusal", "text", said["refusal"])
    told = [id_ for part in _listed(said.get("content")) if (id_ := _call_id(codec.mapping(part)))]
    for number, call in enumerate(_listed(said.get("tool_calls"))):
        if codec.mapping(call).get("id") not in told:
            yield from _call(f"{key} call {number}", codec.mapping(call))
    if isinstance(said.get("function_call"), dict):
        yield Claim(f"{key} call", "tool input", _parsed(codec.mapping(said["function_call"]).get("arguments")))


def _reasoning(key: str, said: dict[str, Any]) -> Iterator[Claim]:
    """Parts of it say again what the flat text says."""
    told = [claim for name in _REASONED for claim in _pieces(f"{key} {name}", said.get(name), "text")]
    yield from told
    flat = [said[name] for name in ("reasoning_content", "reasoning") if isinstance(said.get(name), str) and said[name]]
    shown = "".join(claim.value for claim in told if claim.field == "thinking")
    if flat and "".join(flat[0].split()) != "".join(shown.split()):
        yield Claim(key, "thinking", flat[0])


def _about(key: str, said: dict[str, Any]) -> Iterator[Claim]:
    if isinstance(said.get("model"), str) and said["model"]:
        yield Claim(key, "model", said["model"])
    if usage := usage_of(said.get("usage")):
        yield Claim(key, "usage", list(structs.astuple(usage)))


def _call(key: str, call: dict[str, Any]) -> Iterator[Claim]:
    asked = codec.mapping(call.get("function")) or codec.mapping(call.get("custom"))
    if call.get("id"):
        yield Claim(key, "tool call", [call["id"], asked.get("name")])
    given = _parsed(asked["arguments"]) if "arguments" in asked else asked.get("input")
    yield Claim(key, "tool input", given)


def _call_id(part: dict[str, Any]) -> Any:
    """The id of a part that is a call."""
    return part.get("id") or part.get("tool_call_id") if part.get("type") == "tool_call" else None


def _item(key: str, item: dict[str, Any]) -> Iterator[Claim]:
    kind = str(item.get("type") or "record")
    if kind == "reasoning":
        shown = [*_listed(item.get("summary")), *_listed(item.get("content"))]
        words = [codec.mapping(entry).get("text") for entry in shown]
        yield Claim(key, "thinking", "\n\n".join(word for word in words if isinstance(word, str) and word))
        if item.get("encrypted_content"):
            yield Claim(key, "signature", item["encrypted_content"])
    elif kind.endswith("_output"):
        yield from _pieces(key, item.get("output"), "tool output")
    elif kind in ("function_call", "custom_tool_call"):
        yield Claim(key, "tool call", [item.get("call_id"), item.get("name")])
        yield Claim(key, "tool input", _parsed(item.get("arguments")) if kind == "function_call" else item.get("input"))
    elif not kind.endswith("_call"):
        yield Claim(key, f"part: {kind}", item)


def _pieces(key: str, content: Any, field: str) -> Iterator[Claim]:
    if isinstance(content, str) and (content or field != "text"):
        yield Claim(key, field, content)
    for number, entry in enumerate(_listed(content)):
        part = codec.mapping(entry)
        yield from _piece(f"{key}.{number}", part, part.get("type"), field)


def _piece(key: str, part: dict[str, Any], kind: Any, field: str) -> Iterator[Claim]:
    words = (*_WORDS, "tool_output") if field == "tool output" else _WORDS
    if kind in words and isinstance(part.get("text"), str):
        yield Claim(key, field, part["text"])
    elif kind == "refusal" and isinstance(part.get("refusal"), str) and part["refusal"]:
        yield Claim(key, "text", part["refusal"])
    elif kind in ("thinking", "reasoning.text", "reasoning.summary"):
        yield from _thought(key, part, kind, part.get(kind.removeprefix("reasoning.")))
    elif kind in ("redacted_thinking", "reasoning.encrypted"):
        yield Claim(key, "signature", part.get("data"))
    elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        yield Claim(key, "tool input", part.get("input"))
        if part.get("id"):
            yield Claim(key, "tool call", [part["id"], part.get("name")])
    elif kind == "tool_call":
        yield Claim(key, "tool input", part["args"] if "args" in part else _parsed(part.get("arguments")))
        if isinstance(own := _call_id(part), str):
            yield Claim(key, "tool call", [own, part.get("name")])
    elif isinstance(kind, str) and kind.endswith("tool_result") and part.get("tool_use_id"):
        yield from _pieces(f"{key} result", part.get("content"), "tool output")
        if isinstance(part.get("is_error"), bool):
            yield Claim(key, "error flag", [part["tool_use_id"], part["is_error"]])
    elif data := _data(part):
        yield Claim(key, "image", data)
    else:
        yield Claim(key, f"part: {kind or 'part'}", part)


def _thought(key: str, part: dict[str, Any], kind: str, words: Any) -> Iterator[Claim]:
    if not isinstance(words, str):
        yield Claim(key, f"part: {kind}", part)
        return
    yield Claim(key, "thinking", words)
    if part.get("signature"):
        yield Claim(key, "signature", part["signature"])


def _data(part: dict[str, Any]) -> str | None:
    """Base64, wherever an API puts it."""
    source = codec.mapping(part.get("source"))
    if source.get("type") == "base64":
        return source.get("data")
    where = part.get("image_url")
    address = codec.mapping(where).get("url") if isinstance(where, dict) else where
    given = str(address or part.get("file_data") or "")
    return given.partition(";base64,")[2] if given.startswith("data:") else None


def _parsed(given: Any) -> Any:
    try:
        value = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return given
    return cast("Any", value) if isinstance(value, dict) else given


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
