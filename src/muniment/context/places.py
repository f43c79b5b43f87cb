"""Where quoted words stand, so that everybody can look them up.

A place is a round of a session or of one of its subagents, a block of that round by its number, a field of the block,
and a range of bytes in the UTF-8 of that field. Fields are `text`, `input/NAME` for a member of a tool's input (`/NAME`
again where it is nested), `input` for an input that is no object, and `output/N` for a part of what a tool gave back.
Where secrets are taken out, the bytes are those of the field without them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct

from muniment.model import Block, Compaction, Event, Text, Thinking, Tool, Unknown, codec
from muniment.model.codec import mapping

_DEEPEST = 4
"""Members nested deeper are given as JSON, with the member that holds them."""


class Place(Struct, frozen=True):
    """Where words stand."""

    session_id: str
    round: int
    block: int
    """Counted from 0 over all blocks of the round."""
    field: str
    start: int = 0
    end: int = 0
    of: int = 0
    """Bytes of the whole field."""
    sidechain: str | None = None
    offset: int | None = None
    """First byte in the evidence of the record that the words stand in, where it is known."""


def fields(block: Block) -> Iterator[tuple[str, str]]:
    """Every field of a block that can be quoted, with its text."""
    match block:
        case Text(text) | Thinking(text) | Compaction(text) | Event(_, text):
            yield "text", text
        case Tool():
            if block.name is not None:
                yield from _members("input", block.input)
            for number, part in enumerate(block.output or ()):
                if isinstance(part, Text):
                    yield f"output/{number}", part.text
        case Unknown():
            yield "text", block.damage or _json(block.value)
        case _:
            return


def _members(path: str, value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict) and value and depth < _DEEPEST:
        for key, member in mapping(cast("Any", value)).items():
            yield from _members(f"{path}/{_escaped(key)}", member, depth + 1)
    elif isinstance(value, list) and value and depth < _DEEPEST:
        for number, member in enumerate(cast("list[Any]", value)):
            yield from _members(f"{path}/{number}", member, depth + 1)
    elif value is not None:
        yield path, _json(value)


def _escaped(key: str) -> str:
    """As JSON Pointer writes it."""
    return key.replace("~", "~0").replace("/", "~1")


def _json(value: Any) -> str:
    return codec.encode(value).decode()


def byte_range(text: str, start: int, end: int) -> tuple[int, int]:
    """A range of characters as a range of bytes."""
    if text.isascii():
        return start, end
    before = len(text[:start].encode("utf-8", "surrogatepass"))
    return before, before + len(text[start:end].encode("utf-8", "surrogatepass"))
