"""The lines of an opencode session to rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muniment.model import Facts, Ref, Round
from muniment.sources import apart, documents
from muniment.sources.documents import Part
from muniment.sources.lines import Record
from muniment.sources.opencode.records import mapping
from muniment.sources.opencode.rounds import RoundReader, is_human, is_queued, place


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a session, the last one still open."""
    return apart.read(lines, facts, apart.Way(documents.decode, _opens, RoundReader, _take))


def _opens(part: Part) -> bool:
    user = part.kind == "entry" and mapping(part.value, "info").get("role") == "user"
    return user and is_human(part.value) and not is_queued(part.value)


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
        reader.other("message", part.value, ref)
