"""Lines that hold one message each, to rounds: what formats share that record little beside the conversation.

A format tells what a line says (`Said`); here it is put where it belongs. Every line is understood by itself, so
reading may begin at any round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, cast, final

from msgspec import Struct

from muniment.model import Block, Facts, Media, Ref, Round, Text, Tool, Unknown, codec
from muniment.model.rounds import Role
from muniment.sources import salvage
from muniment.sources.builder import Draft, RoundBuilder, quiet
from muniment.sources.lines import MAX_LINE_BYTES, Record, too_long

_UNREAD = b"# "


@final
class Image(Struct, frozen=True, gc=False):
    """An image or document given as base64."""

    media_type: str
    data: str


@final
class Result(Struct, frozen=True, gc=False):
    """What a tool gave back."""

    id: str
    output: tuple[Text | Unknown | Image, ...]
    is_error: bool | None = None


Part = Block | Image | Result


class Said(Struct, frozen=True, gc=False):
    """What one line says."""

    parts: tuple[Part, ...]
    role: Role | None = None
    """None for what is no message of its own: it stands where the conversation stands."""
    ref: Ref = Ref()
    opens: bool = False
    """A human prompt: a round begins."""
    joins: bool = False
    """Goes on with the message before it, if that has the same speaker."""
    fields: dict[str, Any] = {}  # msgspec copies mutable defaults
    """Of the message: id, model, usage."""
    raw: Any = None


Tell = Callable[[dict[str, Any], Ref], Said]
"""What a line says, given its JSON object and its place; never raises on content."""

Quick = Callable[[bytes, Ref], Said | None]
"""The same of the bytes of a line, if it is one of the usual kind."""


def read(lines: Iterable[Record], facts: Facts, tell: Tell, quick: Quick | None = None) -> Iterator[Round]:
    """The rounds of these lines, the last one still open."""
    round_ = RoundBuilder(facts.rounds + 1, 0)
    begun = False
    for record, said in _told(lines, tell, quick):
        if round_.prompted and said.opens:
            yield round_.close()
            round_, begun = RoundBuilder(round_.number + 1, record.offset), False
        if not begun:
            round_.offset, begun = record.offset, True
        _take(round_, said)
    yield round_.close()


def _told(lines: Iterable[Record], tell: Tell, quick: Quick | None) -> Iterator[tuple[Record, Said]]:
    """Each record with what it says. What is blank or not yet there is left out."""
    for record in lines:
        ref = Ref(record.offset, record.length)
        if quick and (said := quick(record.raw, ref)):
            yield record, said
            continue
        try:
            value = codec.loads(record.raw)
        except ValueError:
            yield from _told_apart(record, tell)
        else:
            yield record, _said(value, ref, tell)


def _told_apart(record: Record, tell: Tell) -> Iterator[tuple[Record, Said]]:
    ref = Ref(record.offset, record.length)
    if what := too_long(record):
        yield record, _damaged(what, ref)
        return
    if record.raw.startswith(_UNREAD):
        yield record, _damaged(record.raw.removeprefix(_UNREAD).decode("utf-8", "replace"), ref)
        return
    for part, value, what in salvage.told(salvage.parts(record), codec.loads):
        place = Ref(part.offset, part.length)
        yield part, _damaged(f"not JSON: {what}", place) if what else _said(value, place, tell)


def _said(value: Any, ref: Ref, tell: Tell) -> Said:
    return tell(cast("dict[str, Any]", value), ref) if isinstance(value, dict) else _damaged("not a JSON object", ref)


def _damaged(what: str, ref: Ref) -> Said:
    return Said((Unknown(kind="damaged", damage=what, ref=ref),), ref=ref)


def _take(round_: RoundBuilder, said: Said) -> None:
    if said.opens:
        round_.prompted, round_.parent = True, said.ref.parent
    last = round_.drafts[-1] if said.joins and round_.drafts else None
    draft = last if last and last.role == said.role else _begun(round_, said)
    for part in said.parts or (quiet("empty message", said.ref),):
        if draft is not None and type(part) is Tool:
            round_.call(draft, part)
        elif type(part) is Result:
            output = tuple(_given_back(round_, piece) for piece in part.output)
            round_.result(part.id, output=output, is_error=part.is_error, result=said.ref)
        else:
            block = round_.add_media(part.data, part.media_type, said.ref) if type(part) is Image else part
            draft.blocks.append(block) if draft is not None else round_.add(block)


def _begun(round_: RoundBuilder, said: Said) -> Draft | None:
    """The message that begins with a line; results begin none."""
    if said.role is None or (said.parts and all(type(part) is Result for part in said.parts)):
        return None
    draft = round_.message(said.role, at=said.ref.at, **said.fields)
    draft.raw = said.raw
    return draft


def _given_back(round_: RoundBuilder, piece: Text | Unknown | Image) -> Text | Unknown | Media:
    return round_.add_media(piece.data, piece.media_type, Ref()) if isinstance(piece, Image) else piece


def at_once(pieces: Iterable[bytes], make: Callable[[bytes], Iterable[bytes]]) -> Iterator[bytes]:
    """The lines made of a file as a whole. One that is larger than any line may be is one line, kept and not read."""
    begun, rest = beginning(pieces)
    if len(begun) > MAX_LINE_BYTES:
        yield from (flat(part) for part in chain([begun], rest))
    else:
        yield from make(begun)


def beginning(pieces: Iterable[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """All of a file, or its beginning and the rest where that is longer than any line may be."""
    held: list[bytes] = []
    rest = iter(pieces)
    for piece in rest:
        held.append(piece)
        if sum(map(len, held)) > MAX_LINE_BYTES:
            break
    return b"".join(held), rest


def unread(what: str) -> bytes:
    """A line that is no JSON and tells why something is kept and not read."""
    return _UNREAD + " ".join(what.split()).encode("utf-8", "replace") + b"\n"


def flat(raw: bytes) -> bytes:
    """On one line: newlines are never part of a value in JSON."""
    return raw.replace(b"\n", b" ")


# -- fields of foreign files, which may hold anything


def text(fields: dict[str, Any], *names: str) -> str | None:
    """The first of these fields that is a string with something in it."""
    for name in names:
        value = fields.get(name)
        if value and isinstance(value, str):
            return value
    return None


def entries(fields: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a field that is a list."""
    value = fields.get(name)
    return [codec.mapping(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else []


def without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    """The fields that are left, those that say nothing left out too; zero and false do say something."""
    return {name: value for name, value in fields.items() if name not in names and (value or value == 0)}
