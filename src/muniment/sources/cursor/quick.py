"""Lines of a transcript with words and calls, which are nearly all, decoded as what they are.

Only a speedier way to what `told.tell` says of the same line: one with anything else in it is left to that.
"""

from __future__ import annotations

from typing import Any, Literal, final

import msgspec
from msgspec import Struct

from muniment.model import Ref, Text, Tool
from muniment.sources.chats import Part, Said
from muniment.sources.cursor import told


@final
class _Text(Struct, tag_field="type", tag="text", forbid_unknown_fields=True, gc=False):
    text: str


@final
class _Call(Struct, tag_field="type", tag="tool_use", forbid_unknown_fields=True, gc=False):
    name: str
    input: Any = None
    id: str = ""


class _Content(Struct, forbid_unknown_fields=True, gc=False):
    content: list[_Text | _Call]


class _Line(Struct, forbid_unknown_fields=True, gc=False):
    role: Literal["assistant", "user"]
    message: _Content


_decode = msgspec.json.Decoder(_Line).decode


def tell(raw: bytes, ref: Ref) -> Said | None:
    """What a line says, if it holds words and calls alone."""
    try:
        line = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    content = line.message.content
    if line.role == "user":
        texts: list[Part] = [Text(part.text, ref) for part in content if isinstance(part, _Text)]
        return told.prompt(texts, ref) if len(texts) == len(content) else None
    parts: list[Part] = []
    for number, part in enumerate(content):
        if type(part) is _Call:
            call_id = part.id or f"call-{ref.offset}-{number}"
            parts.append(Tool(call_id, part.name or None, part.input, ref=ref))
        else:
            parts += told.spoken(part.text, ref)
    return Said(tuple(parts), "assistant", ref, joins=True)
