"""Qwen records to rounds.

A round begins with a person's message, or where the conversation was taken back: what follows a rewind belongs to the
prompt that comes next. What a person says while the agent works steers it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muniment.model import Facts, Ref, Round
from muniment.sources import apart
from muniment.sources.lines import Record
from muniment.sources.qwen import records
from muniment.sources.qwen.records import Line
from muniment.sources.qwen.rounds import RoundReader


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a transcript, the last one still open."""
    return apart.read(lines, facts, apart.Way(records.decode, _opens, RoundReader, _take))


def _opens(line: Line) -> bool:
    return records.is_prompt(line) or (line.type == "system" and line.subtype == "rewind")


def _take(reader: RoundReader, line: Line, record: Record) -> None:
    reader.take(line, Ref(record.offset, record.length, line.uuid, line.parent_uuid, line.timestamp))
