"""What each object of a Gemini session says, told without the reader: the yardstick of `check`.

A message that comes again replaces the former one, so claims go by the message's id and the last one counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.sources.base import Claim

_FAILED = {"success": False, "error": True, "cancelled": True}
_TAGS = ("<session_context>", "<hook_context>", "This is the Gemini CLI. We are setting up the context for our chat.")


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one object; one that is no message is one claim by its kind."""
    try:
        record = mapping(codec.loads(line.removeprefix(b",")))
    except ValueError:
        return
    if isinstance(record.get("parts"), list) and isinstance(record.get("role"), str):
        yield from _saved(hashlib.sha256(line).hexdigest()[:16], record)
        return
    key, kind = record.get("id"), record.get("type")
    if not isinstance(key, str) or not isinstance(kind, str):
        if record:
            yield Claim(f"{next(iter(record))} {hash(line)}", f"record: {next(iter(record))}")
        return
    content = record.get("content")
    if kind == "user" and _text_of(content).strip().startswith(_TAGS):
        yield Claim(key, "record: context", content)
        return
    yield from _content(key, content, record)
    if record.get("timestamp") and (content or record.get("toolCalls") or record.get("thoughts")):
        yield Claim(key, "time", record["timestamp"])
        yield Claim(key, "id", key)
    if kind not in ("user", "info", "warning", "error"):
        yield from _answer(key, record)


def _saved(key: str, content: dict[str, Any]) -> Iterator[Claim]:
    """A message of a saved conversation, which has no id, and whose calls may have none."""
    if content["role"] == "user" and _text_of(content["parts"]).strip().startswith(_TAGS):
        yield Claim(key, "record: context")
        return
    for number, part in enumerate(content["parts"]):
        call, response = (mapping(mapping(part).get(name)) for name in ("functionCall", "functionResponse"))
        if call:
            yield Claim(f"{key}.{number}", "tool input", call.get("args"))
        if isinstance(call.get("id"), str):
            yield Claim(f"{key}.{number}", "tool call", [call["id"], call.get("name")])
        if response:
            yield from _response(f"{key}.{number}", 0, response)
        if not call and not response:
            yield from _content(f"{key}.{number}", [part], {})


def _parts(content: Any) -> list[Any]:
    return cast("list[Any]", content) if isinstance(content, list) else [content] if content else []


def _text_of(content: Any) -> str:
    parts = (part if isinstance(part, str) else mapping(part).get("text") for part in _parts(content))
    return "".join(part for part in parts if isinstance(part, str))


def _placed(key: str, content: Any) -> Iterator[tuple[str, Any]]:
    """Each part with its key; pictures behind a result are its own, and have the same key where it is told again."""
    call, behind = "", 0
    for number, part in enumerate(_parts(content)):
        fields = mapping(part)
        behind = behind + 1 if call and "inlineData" in fields else 0
        if not behind:
            call = str(mapping(fields.get("functionResponse")).get("id") or "")
        yield (f"call {call}.{behind}" if behind else f"{key}.{number}"), part


def _content(key: str, content: Any, record: dict[str, Any]) -> Iterator[Claim]:
    calls = [mapping(call).get("id") for call in _parts(record.get("toolCalls"))]
    for place, part in _placed(key, content):
        fields = {"text": part} if isinstance(part, str) else mapping(part)
        if call := mapping(fields.get("functionCall")):
            if call.get("id") not in calls:
                yield Claim(f"call {call.get('id')}", "tool input", call.get("args"))
        elif response := mapping(fields.get("functionResponse")):
            yield from _response(str(response.get("id")), 0, response)
        elif fields.get("thought") is True:
            yield Claim(f"{key} thought {fields.get('text')}", "thinking", fields.get("text"))
        elif isinstance(words := fields.get("text"), str):
            yield Claim(place, "text", words)
        elif data := mapping(fields.get("inlineData")).get("data"):
            yield Claim(place, "image", data)
        else:
            yield Claim(place, f"part: {next(iter(fields), 'part')}", part)


def _answer(key: str, record: dict[str, Any]) -> Iterator[Claim]:
    for thought in _parts(record.get("thoughts")):
        subject, description = mapping(thought).get("subject"), mapping(thought).get("description") or ""
        words = f"**{subject}** {description}" if subject else description
        yield Claim(f"{key} thought {words}", "thinking", words)
    if record.get("model"):
        yield Claim(key, "model", record["model"])
    if tokens := mapping(record.get("tokens")):
        yield Claim(key, "usage", _tokens(tokens))
    for call in _parts(record.get("toolCalls")):
        yield from _call(mapping(call))


def _tokens(said: dict[str, Any]) -> list[int]:
    names = ("input", "cached", "tool", "output", "thoughts")
    given, cached, used, answered, thought = (_number(said.get(name)) for name in names)
    return [max(given - cached, 0) + used, answered + thought, cached, 0]


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 1 << 53 else 0


def _call(call: dict[str, Any]) -> Iterator[Claim]:
    key, id_ = f"call {call.get('id')}", call.get("id") or ""
    yield Claim(key, "tool call", [id_, call.get("name")])
    yield Claim(key, "tool input", call.get("args"))
    if (failed := _FAILED.get(str(call.get("status")))) is not None:
        yield Claim(key, "error flag", [id_, failed])
    result = call.get("result")
    for number, part in enumerate(_parts(result)):
        fields = {"text": part} if isinstance(part, str) else mapping(part)
        if response := mapping(fields.get("functionResponse")):
            yield from _response(str(call.get("id")), number, response)
        elif isinstance(words := fields.get("text"), str):
            yield Claim(f"{key}.{number}", "tool output", words)
        elif data := mapping(fields.get("inlineData")).get("data"):
            yield Claim(f"{key}.{number}", "image", data)


def _response(call: str, number: int, response: dict[str, Any]) -> Iterator[Claim]:
    value = mapping(response.get("response"))
    words = value.get("output", value.get("error"))
    if isinstance(words, str) and len(value) == 1:
        yield Claim(f"call {call}.{number}", "tool output", words)
    else:
        yield Claim(f"call {call}.{number}", "part: functionResponse", response.get("response"))
