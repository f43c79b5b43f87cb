"""Blocks: the pieces a message is made of.

A block carries what a reader needs and, in `ref`, where its source record lies in the evidence. Two blocks
with the same content but other refs differ; `document.visible` compares what people can see. Values of JSON hold no
cycles, so the garbage collector need not follow them (`gc=False`). No kind of block has others below it (`final`):
`type(block) is Tool` tells as much as `isinstance`, which takes four times as long to say no of a struct.
"""

from __future__ import annotations

from typing import Any, final

from msgspec import Struct


class Ref(Struct, frozen=True, omit_defaults=True, gc=False):
    """Where a block comes from: one record of the source."""

    offset: int = 0
    """First byte of the record in its evidence file."""
    length: int = 0
    """Bytes of the record, its newline not counted."""
    id: str | None = None
    """The record's own id, where the source gives one."""
    parent: str | None = None
    """Id of the record it follows, as the source says."""
    at: str | None = None
    """The record's time, as written in the source."""
    plain: bool = False
    """The content stood there as a bare string, not as a list of parts."""


NOWHERE = Ref()


@final
class Text(Struct, frozen=True, omit_defaults=True, gc=False, tag="text"):
    """Words of the speaker."""

    text: str
    ref: Ref = NOWHERE


@final
class Thinking(Struct, frozen=True, omit_defaults=True, gc=False, tag="thinking"):
    """Reasoning of the model; the text may be empty and the signature still count."""

    text: str
    signature: str | None = None
    """Opaque proof of its provider; kept in the rounds, never in the document."""
    redacted: bool = False
    """Only the signature-like blob is there; the provider withheld the text."""
    ref: Ref = NOWHERE


@final
class Media(Struct, frozen=True, omit_defaults=True, gc=False, tag="media"):
    """An image or document; its bytes lie in `media/<name>`."""

    name: str
    """File name: sha256 of the bytes and an extension."""
    media_type: str
    ref: Ref = NOWHERE


@final
class Compaction(Struct, frozen=True, omit_defaults=True, gc=False, tag="compaction"):
    """The context was cut here; `text` is the summary that took its place."""

    text: str = ""
    detail: Any = None
    """What the source recorded about the cut: trigger, sizes, kept records."""
    ref: Ref = NOWHERE


@final
class Event(Struct, frozen=True, omit_defaults=True, gc=False, tag="event"):
    """Something that happened around the conversation. Without `text` it is quiet: counted, not shown."""

    kind: str
    text: str = ""
    detail: Any = None
    ref: Ref = NOWHERE


@final
class Unknown(Struct, frozen=True, omit_defaults=True, gc=False, tag="unknown"):
    """A piece this version does not understand: kept as it came."""

    kind: str
    value: Any = None
    """The piece itself, where it is JSON."""
    damage: str = ""
    """What is wrong, if the record could not be read at all."""
    ref: Ref = NOWHERE


@final
class Tool(Struct, frozen=True, omit_defaults=True, gc=False, tag="tool"):
    """A tool call together with its result, wherever in the round that arrived."""

    id: str
    name: str | None = None
    """None when only the result is in this round."""
    input: Any = None
    output: tuple[Text | Media | Unknown, ...] | None = None
    """None while no result has been seen."""
    is_error: bool | None = None
    """As recorded: true, false, or not said."""
    sidechain: str | None = None
    """Id of the subagent session this call started."""
    ref: Ref = NOWHERE
    result: Ref | None = None
    """Where the result's record lies."""


Block = Text | Thinking | Tool | Media | Compaction | Event | Unknown


def is_quiet(block: Block) -> bool:
    """An event that changes nothing for a reader."""
    return type(block) is Event and not block.text
