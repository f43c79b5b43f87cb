"""The lines of a trajectory to rounds; a step of the user opens one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muniment.model import Facts, Ref, Round
from muniment.sources import apart, documents
from muniment.sources.atif.rounds import RoundReader, is_queued, step_id, text
from muniment.sources.documents import Part
from muniment.sources.lines import Record


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a trajectory."""
    return apart.read(lines, facts, apart.Way(documents.decode, _opens, RoundReader, _take))


def _opens(part: Part) -> bool:
    return part.kind == "entry" and part.value.get("source") == "user" and not is_queued(part.value)


def _take(reader: RoundReader, part: Part, record: Record) -> None:
    place = Ref(record.offset, record.length)
    if part.kind == "head":
        reader.head(part.value, place)
    elif part.kind == "tail":
        reader.tail(part.value, place)
    else:
        at = text(part.value, "timestamp")
        reader.step(part.value, Ref(record.offset, record.length, step_id(part.value), at=at))
