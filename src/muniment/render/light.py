"""The items of a session in columns, read from the round files without building what nobody looks at.

The blocks are decoded with their texts left as raw JSON, of which only the length counts. A file that the fast decoder
refuses takes the ordinary road. `shown.kind_of` is the rule for what is shown; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from muniment.model import Round, Tool, codec
from muniment.render.shown import KINDS, Kind, Light, kind_of
from muniment.store import rounds
from muniment.store.layout import Shelf

_NONE = Raw(b"null")
_EMPTY = Raw(b'""')
_LOOKED_AT = 40
_MAYBE_BLANK = b'" \\nrtfvu0123456789abcdefABCDEF' + bytes(range(128, 256))
"""A text that begins with nothing but these is decoded to see whether it says anything."""
_NUMBER = {kind: number for number, kind in enumerate(KINDS)}


class _Text(Struct, gc=False, tag="text"):
    text: Raw = _EMPTY


class _Thinking(Struct, gc=False, tag="thinking"):
    text: Raw = _EMPTY


class _Tool(Struct, gc=False, tag="tool"):
    name: str | None = None
    input: Raw = _NONE
    output: Raw = _NONE


class _Media(Struct, gc=False, tag="media"):
    pass


class _Compaction(Struct, gc=False, tag="compaction"):
    text: Raw = _EMPTY


class _Event(Struct, gc=False, tag="event"):
    text: Raw = _EMPTY


class _Unknown(Struct, gc=False, tag="unknown"):
    value: Raw = _NONE


_Block = _Text | _Thinking | _Tool | _Media | _Compaction | _Event | _Unknown


class _Head(Struct, gc=False):
    role: str = ""
    count: int = 0
    prompt: bool = False


class _User(Struct, gc=False):
    blocks: tuple[_Block, ...] = ()


class _Round(Struct):
    round: int
    user: _User | None = None
    agent: tuple[_Block, ...] = ()
    messages: tuple[_Head, ...] = ()


Seen = tuple[Kind, int, str | None]
_decoder = msgspec.json.Decoder(_Round)


def light(shelf: Shelf) -> Light:
    """The items of a session, or of one of its sidechains."""
    made = Light([], [], [], [], [])
    numbers: dict[str, int] = {}
    number = 1
    while (path := shelf.round_file(number)).exists():
        for kind, size, tool in _seen(shelf, number, path.read_bytes()):
            made.kind.append(_NUMBER[kind])
            made.round.append(number)
            made.size.append(size)
            made.tool.append(-1 if tool is None else numbers.setdefault(tool, len(numbers)))
        number += 1
    made.tools.extend(numbers)
    return made


def _seen(shelf: Shelf, number: int, data: bytes) -> Iterator[Seen]:
    try:
        blocks = _blocks(_decoder.decode(data))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        yield from _the_long_way(rounds.load(shelf, number))
        return
    for role, block in blocks:
        kind, size, tool = _look(block, role)
        if kind:
            yield kind, size, tool


def _blocks(made: _Round) -> list[tuple[str, _Block]]:
    found: list[tuple[str, _Block]] = []
    at = 0
    for head in made.messages:
        if head.prompt and made.user:
            found += [("user", block) for block in made.user.blocks]
            continue
        found += [(head.role, block) for block in made.agent[at : at + head.count]]
        at += head.count
    return found


def _look(block: _Block, role: str) -> tuple[Kind | None, int, str | None]:
    match block:
        case _Tool():
            return "tool", _length(block.input) + _length(block.output), block.name or ""
        case _Text(text):
            return ("user" if role == "user" else "assistant") if _says(text) else None, _length(text), None
        case _Event(text):
            return "event" if _says(text) else None, _length(text), None
        case _Thinking(text):
            return "thinking" if _says(text) else None, _length(text), None
        case _Compaction(text):
            return "compaction", _length(text), None
        case _Unknown(value):
            return "unknown", _length(value), None
        case _Media():
            return "media", 0, None


def _length(raw: Raw) -> int:
    return max(memoryview(raw).nbytes - 2, 0)


def _says(raw: Raw) -> bool:
    """Whether a text has more than blanks."""
    begin = bytes(memoryview(raw)[:_LOOKED_AT])
    return bool(begin.strip(_MAYBE_BLANK)) or bool(msgspec.json.decode(raw, type=str).strip())


def _the_long_way(round_: Round) -> Iterator[Seen]:
    for message in round_.messages:
        for block in message.blocks:
            if kind := kind_of(block, message.role):
                yield kind, len(codec.encode(block)), (block.name or "") if isinstance(block, Tool) else None
