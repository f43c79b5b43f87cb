"""Single blocks out of a round file. A round may be 80 MB, and a page looks at fifty of its blocks.

A chart says where in the file each block lies that is shown. It is made in one pass that builds nothing, and with it a
block is read by itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from muniment import files
from muniment.model import Block, Message, Round, codec
from muniment.render.shown import kind_of
from muniment.store.layout import Shelf
from muniment.store.rounds import Head

_LARGE = 4_000
_ALWAYS = (b'{"type":"tool"', b'{"type":"text"', b'{"type":"compaction"', b'{"type":"unknown"')
"""What begins so and is large is shown, whatever it holds."""


class _User(Struct, gc=False):
    blocks: tuple[Raw, ...] = ()


class _File(Struct):
    messages: tuple[Head, ...] = ()
    user: _User | None = None
    agent: tuple[Raw, ...] = ()


class Chart(Struct, frozen=True):
    """Where the shown blocks of a round lie."""

    number: int
    heads: tuple[Head, ...]
    places: list[tuple[int, int, int]]
    """First byte, length, and which message, in the order in which they are shown."""


_decoder = msgspec.json.Decoder(_File)
_block: msgspec.json.Decoder[Block] = msgspec.json.Decoder(Block)
_NEEDED = frozenset(Message.__struct_fields__) - {"blocks"}


def make(shelf: Shelf, number: int) -> Chart:
    """The chart of a round. Raises MsgspecError for one that the fast decoder refuses."""
    data = shelf.round_file(number).read_bytes()
    made = _decoder.decode(data)
    places: list[tuple[int, int, int]] = []
    at = {True: 0, False: data.find(b'"agent":[')}
    for which, raw in _blocks(made):
        piece = bytes(raw)
        own = made.messages[which].prompt
        at[own] = _find(data, piece, at[own])
        if _is_shown(piece, made.messages[which].role):
            places.append((at[own], len(piece), which))
        at[own] += len(piece) + 1
    return Chart(number, made.messages, places)


def _blocks(made: _File) -> Iterator[tuple[int, Raw]]:
    """Every block with the number of its message."""
    at = 0
    for which, head in enumerate(made.messages):
        if head.prompt and made.user:
            yield from ((which, raw) for raw in made.user.blocks)
            continue
        yield from ((which, raw) for raw in made.agent[at : at + head.count])
        at += head.count


def _find(data: bytes, piece: bytes, at: int) -> int:
    """Where a block lies: behind the comma of the one before it, unless another program wrote the file."""
    return at if at >= 0 and data.startswith(piece, at) else data.find(piece, max(at, 0))


def _is_shown(piece: bytes, role: str) -> bool:
    if len(piece) > _LARGE and piece.startswith(_ALWAYS):
        return True
    return kind_of(_decoded(piece), role) is not None


def _decoded(data: bytes) -> Block:
    try:
        return _block.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.convert(codec.loads(data), Block)


def read(shelf: Shelf, chart: Chart, first: int = 0, last: int | None = None) -> Round:
    """The shown blocks from `first` to before `last`, each as a message of its own: all else is not read."""
    with files.open_regular(shelf.round_file(chart.number)) as file:
        messages = [_message(file.fileno(), chart, place) for place in chart.places[first:last]]
    return Round(chart.number, tuple(messages))


def _message(descriptor: int, chart: Chart, place: tuple[int, int, int]) -> Message:
    start, length, which = place
    about = {name: getattr(chart.heads[which], name) for name in _NEEDED}
    return Message(**about, blocks=(_decoded(os.pread(descriptor, length, start)),))
