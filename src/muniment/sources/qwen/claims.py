"""What each record of a Qwen session says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.sources.base import Claim

_FAILED = {"success": False, "error": True, "cancelled": True}
_PLAIN = frozenset({"text", "thought", "thoughtSignature"})
_PROMPTS = (None, "realtime_message", "mid_turn_user_message")


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one record; one that is no part of the conversation is a claim by its kind."""
    try:
        record = mapping(codec.loads(line))
    except ValueError:
        return
    kind, said = record.get("type"), mapping(record.get("message"))
    subtype = record["subtype"] if isinstance(record.get("subtype"), str) else None
    key, parts = str(record.get("uuid")), _list(said.get("parts"))
    if kind not in ("user", "assistant", "tool_result") and subtype != "chat_compression":
        yield Claim(key, f"record: {subtype or kind}")
        return
    for field, name in (("id", "uuid"), ("parent", "parentUuid"), ("time", "timestamp")):
        if isinstance(record.get(name), str):
            yield Claim(key, field, record[name])
    if kind == "tool_result":
        yield from _results(key, parts, mapping(record.get("toolCallResult")))
    elif kind == "assistant":
        yield from _answer(key, parts, record)
    elif kind == "user" and subtype in _PROMPTS:
        for number, part in enumerate(parts):
            yield from _piece(f"{key}.{number}", "text", part)
    elif words := _words(parts if kind == "user" else _summary(record)):
        yield Claim(key, "text", words)


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _summary(record: dict[str, Any]) -> list[Any]:
    history = _list(mapping(record.get("systemPayload")).get("compressedHistory"))
    return _list(mapping(history[0]).get("parts")) if history else []


def _words(parts: list[Any]) -> str:
    words = (part if isinstance(part, str) else mapping(part).get("text") for part in parts)
    return "".join(word for word in words if isinstance(word, str))


def _answer(key: str, parts: list[Any], record: dict[str, Any]) -> Iterator[Claim]:
    for number, part in enumerate(parts):
        if call := mapping(mapping(part).get("functionCall")):
            if isinstance(call.get("id"), str) and isinstance(call.get("name"), str):
                yield Claim(f"{key}.{number}", "tool call", [call["id"], call["name"]])
            yield Claim(f"{key}.{number}", "tool input", call.get("args"))
        else:
            yield from _piece(f"{key}.{number}", "text", part)
    if record.get("model") and isinstance(record["model"], str):
        yield Claim(key, "model", record["model"])
    if usage := mapping(record.get("usageMetadata")):
        yield Claim(key, "usage", _tokens(usage))


def _tokens(usage: dict[str, Any]) -> list[int]:
    names = ("prompt", "candidates", "thoughts", "total", "cachedContent")
    given, answered, thought, whole, cached = (_number(usage.get(f"{name}TokenCount")) for name in names)
    cached = min(cached, given)
    return [given - cached, answered if whole < given + answered + thought else answered + thought, cached, 0]


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 1 << 53 else 0


def _results(key: str, parts: list[Any], told: dict[str, Any]) -> Iterator[Claim]:
    for number, part in enumerate(parts):
        response = mapping(mapping(part).get("functionResponse"))
        if not response:
            yield from _piece(f"{key}.{number}", "tool output", part)
            continue
        yield from _response(f"{key}.{number}", response)
        own, failed = response.get("id"), _FAILED.get(str(told.get("status")))
        if isinstance(own, str) and told.get("callId") == own and failed is not None:
            yield Claim(f"{key}.{number}", "error flag", [own, failed])


def _response(key: str, response: dict[str, Any]) -> Iterator[Claim]:
    value = mapping(response.get("response"))
    words = value.get("output", value.get("error"))
    if isinstance(words, str) and len(value) == 1:
        yield Claim(key, "tool output", words)
    else:
        yield Claim(key, "part: functionResponse", response.get("response"))
    for number, part in enumerate(_list(response.get("parts"))):
        yield from _piece(f"{key}.{number}", "tool output", part)


def _piece(key: str, field: str, part: Any) -> Iterator[Claim]:
    """Words, thoughts, pictures, or what nobody knows."""
    fields = mapping(part)
    words, data = fields.get("text"), mapping(fields.get("inlineData")).get("data")
    if isinstance(words, str) and fields.get("thought") is True and field == "text":
        yield Claim(key, "thinking", words)
        if isinstance(fields.get("thoughtSignature"), str):
            yield Claim(key, "signature", fields["thoughtSignature"])
    elif isinstance(words, str) and fields.keys() <= _PLAIN and fields.get("thought") is not True:
        yield Claim(key, field, words)
    elif isinstance(data, str) and len(fields) == 1 and isinstance(mapping(fields["inlineData"]).get("mimeType"), str):
        yield Claim(key, "image", data)
    else:
        kind = "thought" if fields.get("thought") is True else next(iter(fields), "part")
        yield Claim(key, f"part: {kind}", part)
