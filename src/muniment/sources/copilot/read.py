"""Copilot's events to rounds.

A round begins with what a human says while the agent is idle; what is said while it works steers it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muniment.model import Facts, Ref, Round
from muniment.sources import apart
from muniment.sources.copilot import records, timeline
from muniment.sources.copilot.records import Line, source_of, subagent_of
from muniment.sources.copilot.rounds import RoundReader
from muniment.sources.lines import Record


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a transcript, the last one still open."""
    return apart.read(lines, facts, apart.Way(_decode, _opens, RoundReader, _take))


def _decode(raw: bytes) -> Line:
    """An event, or a line of a document from before there were any: their types have no dot."""
    try:
        line = records.decode(raw)
    except ValueError as wrong:
        try:
            return timeline.decode(raw)
        except ValueError:
            raise wrong from None
    bare = "." not in line.type and not line.data and line.type != "abort"
    return timeline.decode(raw) if bare else line


def _opens(line: Line) -> bool:
    if line.type != "user.message" or source_of(line) or subagent_of(line):
        return False
    return line.data.get("delivery") != "steering"


def _take(reader: RoundReader, line: Line, record: Record) -> None:
    reader.take(line, Ref(record.offset, record.length, line.id, line.parent_id, line.timestamp))
