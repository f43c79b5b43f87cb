"""The lines of an opencode session to rounds.

Every round is read by a reader of its own that knows the facts before it and nothing else, so reading may begin at
any round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muniment.model import Facts, Ref, Round, codec
from muniment.sources import documents
from muniment.sources.base import MAX_LINE_BYTES, Record, is_whole
from muniment.sources.documents import Part
from muniment.sources.opencode.records import mapping
from muniment.sources.opencode.rounds import RoundReader, is_human, is_queued, place


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a session, the last one still open."""
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
    """What a line holds, or what is wrong with it."""
    if record.length > MAX_LINE_BYTES:
        return None, f"a line of {record.length} bytes is kept and not read"
    try:
        return documents.decode(record.raw), ""
    except ValueError as error:
        return None, f"not JSON: {error}"


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
