"""Copilot's events to rounds.

A round begins with what a human says while the agent is idle; what is said while it works steers it. Every round
is read by a reader of its own that knows the facts before it and nothing else, so reading may begin at any round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muniment.model import Facts, Ref, Round
from muniment.sources.base import MAX_LINE_BYTES, Record, is_whole
from muniment.sources.copilot import records
from muniment.sources.copilot.records import Line, source_of, subagent_of
from muniment.sources.copilot.rounds import RoundReader


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a transcript, the last one still open."""
    reader: RoundReader | None = None
    for record in lines:
        if (record.torn and not is_whole(record, records.decode)) or _is_blank(record):
            continue
        line, what = _decoded(record)
        if reader and reader.round.prompted and line and _opens(line):
            yield (closed := reader.close())
            facts = facts.after(closed)
            reader = None
        reader = reader or RoundReader(facts, record.offset)
        if line:
            reader.take(line, Ref(record.offset, record.length, line.id, line.parent_id, line.timestamp))
        else:
            reader.damaged(what, Ref(record.offset, record.length))
    yield (reader or RoundReader(facts, 0)).close()


def _is_blank(record: Record) -> bool:
    return not record.raw.strip() and record.length <= MAX_LINE_BYTES


def _decoded(record: Record) -> tuple[Line | None, str]:
    """The event, or what is wrong with its line."""
    if record.length > MAX_LINE_BYTES:
        return None, f"a line of {record.length} bytes is kept and not read"
    try:
        return records.decode(record.raw), ""
    except ValueError as error:
        return None, str(error)


def _opens(line: Line) -> bool:
    if line.type != "user.message" or source_of(line) or subagent_of(line):
        return False
    return line.data.get("delivery") != "steering"
