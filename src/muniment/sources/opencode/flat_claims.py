"""What each record of opencode 2 says, told without the reader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from muniment.model.codec import mapping
from muniment.sources.base import Claim

_UNSPOKEN = ("synthetic", "system", "skill", "idle", "agent-switched", "model-switched", "location-switched")
_WORDS = {
    "user": ("text", str),
    "assistant": ("content", list),
    "shell": ("command", str),
    "compaction": ("summary", str),
}


def claims(value: dict[str, Any]) -> Iterator[Claim]:
    """The claims of one record."""
    key, kind = value.get("id"), str(value.get("type"))
    words = _WORDS.get(kind)
    if words and key and isinstance(key, str) and isinstance(value.get(words[0]), words[1]):
        yield from _about(key, value)
        yield from _SAID[kind](key, value)
    elif kind in _UNSPOKEN:
        yield Claim(str(key), f"record: {kind}")
    else:
        yield Claim(str(key), "part: message", value)


def _about(key: str, value: dict[str, Any]) -> Iterator[Claim]:
    yield Claim(key, "message id", value.get("id"))
    yield Claim(key, "time", mapping(value.get("time")).get("created"))
    if model := mapping(value.get("model")):
        yield Claim(key, "model", model.get("id"))
    if "tokens" in value:
        yield Claim(key, "usage", value["tokens"])
    if "error" in value:
        yield Claim(key, "record: error")


def _prompt(key: str, value: dict[str, Any]) -> Iterator[Claim]:
    yield from _some(key, value["text"])
    for number, file in enumerate(_entries(value, "files")):
        fields = mapping(file)
        yield from _file(f"{key}.{number}", fields.get("data") or _data(fields.get("uri")), file)


def _answer(key: str, value: dict[str, Any]) -> Iterator[Claim]:
    for number, piece in enumerate(_entries(value, "content")):
        yield from _piece(f"{key}.{number}", mapping(piece), piece)


def _summary(key: str, value: dict[str, Any]) -> Iterator[Claim]:
    yield from _some(key, value["summary"])


def _piece(key: str, piece: dict[str, Any], whole: Any) -> Iterator[Claim]:
    kind, words = piece.get("type"), piece.get("text")
    marks = piece.get("native") or piece.get("state")
    if kind == "text" and isinstance(words, str):
        yield from _some(key, words)
    elif kind == "reasoning" and isinstance(words, str):
        if words or isinstance(marks, dict):
            yield Claim(key, "thinking", words)
            yield Claim(key, "signature", marks)
    elif kind == "tool" and _is_call(piece):
        yield from _tool(key, piece, mapping(piece.get("state")))
    else:
        yield Claim(key, f"part: {kind}", whole)


def _is_call(piece: dict[str, Any]) -> bool:
    return isinstance(piece.get("id"), str) and isinstance(piece.get("name"), str) and bool(mapping(piece.get("state")))


def _tool(key: str, piece: dict[str, Any], state: dict[str, Any]) -> Iterator[Claim]:
    yield Claim(key, "tool call", [piece.get("id"), piece.get("name"), state.get("status")])
    yield Claim(key, "tool input", state.get("input"))
    for number, item in enumerate(_entries(state, "content") if state.get("status") in ("completed", "error") else ()):
        fields = mapping(item)
        if fields.get("type") == "text" and isinstance(fields.get("text"), str):
            yield Claim(f"{key}.{number}", "tool output", fields["text"])
        else:
            yield from _file(f"{key}.{number}", _data(fields.get("uri")), item)
    if state.get("status") == "error" and isinstance(mapping(state.get("error")).get("message"), str):
        yield Claim(f"{key}.error", "tool output", mapping(state["error"])["message"])


def _shell(key: str, value: dict[str, Any]) -> Iterator[Claim]:
    yield Claim(key, "tool call", [value.get("shellID"), value.get("status"), value.get("exit")])
    yield Claim(key, "tool input", {"command": value["command"]})
    output = value.get("output")
    given = cast("dict[str, Any]", output).get("output") if isinstance(output, dict) else output
    if isinstance(given, str):
        yield Claim(key, "tool output", given)


def _some(key: str, words: str) -> Iterator[Claim]:
    if words:
        yield Claim(key, "text", words)


def _data(url: Any) -> str | None:
    scheme, comma, data = str(url).partition(";base64,")
    return data if comma and scheme.startswith("data:") else None


def _file(key: str, data: Any, whole: Any) -> Iterator[Claim]:
    yield Claim(key, "image", data) if data and isinstance(data, str) else Claim(key, "part: file", whole)


def _entries(fields: dict[str, Any], name: str) -> list[Any]:
    value = fields.get(name)
    return cast("list[Any]", value) if isinstance(value, list) else []


_SAID = {"user": _prompt, "assistant": _answer, "shell": _shell, "compaction": _summary}
