"""The lines of an opencode session to rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from muniment.model import Facts, Ref, Round
from muniment.sources import apart, documents
from muniment.sources.documents import Part
from muniment.sources.lines import Record
from muniment.sources.opencode import early, flat
from muniment.sources.opencode.records import HELD, listing, mapping
from muniment.sources.opencode.rounds import RoundReader, is_human, is_queued, place


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a session, the last one still open."""
    return apart.read(lines, facts, apart.Way(_decode, _opens, RoundReader, _take))


def _decode(raw: bytes) -> Part:
    return early.of_now(_with_objects(documents.decode(raw)))


def _with_objects(part: Part) -> Part:
    """Return a message whose info and parts are objects, as those of rows that held none are."""
    if part.kind != "entry" or "info" not in part.value:
        return part
    pieces = [_object(piece) for piece in listing(part.value, "parts")]
    return Part(part.kind, part.value | {"info": _object(part.value["info"]), "parts": pieces})


def _object(value: Any) -> Any:
    return cast("Any", value) if isinstance(value, dict) else {HELD: value}


def _opens(part: Part) -> bool:
    if part.kind != "entry":
        return False
    info = mapping(part.value, "info")
    if not info:
        return flat.opens(part.value)
    return info.get("role") == "user" and is_human(part.value) and not is_queued(part.value)


def _take(reader: RoundReader, part: Part, record: Record) -> None:
    ref = Ref(record.offset, record.length)
    if part.kind != "entry":
        if info := mapping(part.value, "info"):
            reader.head(info, ref)
        if rest := {name: value for name, value in part.value.items() if name != "info"}:
            reader.other(part.kind, rest, ref)
    elif mapping(part.value, "info"):
        reader.message(part.value, place(part.value, record.offset, record.length))
    else:
        reader.record(part.value, flat.place(part.value, record.offset, record.length))
