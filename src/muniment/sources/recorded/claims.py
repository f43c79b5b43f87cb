"""What is said in the lines of every recorded format, told without the reader: a part of the yardstick of `check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from muniment.model import codec
from muniment.model.codec import mapping
from muniment.model.events import call_said, result_said, words_of
from muniment.sources.base import Claim


def words(key: str, payload: Any, field: str) -> Iterator[Claim]:
    """Something that was said: a single text, or parts."""
    text, content = words_of(payload), mapping(payload).get("content")
    if text is not None:
        yield Claim(key, field, text)
    elif isinstance(content, list):
        yield from _parts(key, cast("list[Any]", content), field)


def call(key: str, payload: Any) -> Iterator[Claim]:
    said = call_said(payload)
    yield Claim(key, "tool call", (said.id, said.name))
    yield Claim(key, "tool input", said.value)


def output(key: str, payload: Any) -> Iterator[Claim]:
    """What a tool gave back: a text, parts, or any value, which is read as JSON."""
    value = result_said(payload).value
    parts = cast("list[Any]", value) if isinstance(value, list) else []
    if parts and all(isinstance(mapping(part).get("type"), str) for part in parts):
        yield from _parts(key, parts, "tool output")
    elif value is not None:
        yield Claim(key, "tool output", value if isinstance(value, str) else codec.encode(value).decode())


def _parts(key: str, parts: list[Any], field: str) -> Iterator[Claim]:
    for number, part in enumerate(parts):
        fields = mapping(part)
        if fields.get("type") == "text" and isinstance(fields.get("text"), str):
            yield Claim(f"{key} {number}", field, fields["text"])
        elif fields.get("type") == "image" and isinstance(fields.get("data"), str):
            yield Claim(f"{key} {number}", "image", fields["data"])
