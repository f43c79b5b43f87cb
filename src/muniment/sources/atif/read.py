"""The lines of a trajectory to rounds; a step of the user opens one.

Every round is read by a reader of its own that knows the facts before it and nothing else, so reading may begin at
any round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muniment.model import Facts, Ref, Round, codec
from muniment.sources import documents
from muniment.sources.atif.rounds import RoundReader, is_queued, step_id, text
from muniment.sources.base import MAX_LINE_BYTES, Record, is_whole
from muniment.sources.documents import Part


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a trajectory."""
    reader: RoundReader | None = None
    for record in lines:
        if (record.torn and not is_whole(record, codec.loads)) or _is_blank(record):
            continue
        part, what = _decoded(record)
        if reader and reader.round.prompted and part and _opens(part):
            yield (closed := reader.close())
            facts = facts.after(closed)
            reader = None
        reader = reader or RoundReader(facts, record.offset)
        if part:
            _take(reader, part, record)
        else:
            reader.damaged(what, Ref(record.offset, record.length))
    yield (reader or RoundReader(facts, 0)).close()


def _is_blank(record: Record) -> bool:
    return not record.raw.strip() and record.length <= MAX_LINE_BYTES


def _decoded(record: Record) -> tuple[Part | None, str]:
    if record.length > MAX_LINE_BYTES:
        return None, f"a line of {record.length} bytes is kept and not read"
    try:
        return documents.decode(record.raw), ""
    except ValueError as error:
        return None, f"not JSON: {error}"


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
