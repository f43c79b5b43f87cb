"""Codex records to rounds.

Every round is read by a reader of its own that knows the facts before it and nothing else, so reading may begin at
any round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from muniment.model import Facts, Ref, Round
from muniment.sources import salvage
from muniment.sources.codex import chats, oldest, records, stream
from muniment.sources.codex.place import EPOCH
from muniment.sources.codex.records import Line, text
from muniment.sources.codex.rounds import RoundReader
from muniment.sources.codex.turns import Placed, Turns
from muniment.sources.lines import Record

_LOOKED_AT = 20
_KNOWN = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:timestamp|type|id|role|record_type)"')
"""What records begin with."""


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a rollout, the last one still open."""
    reader: RoundReader | None = None
    turns = Turns(facts.continued)
    for record in _told(lines, facts.rounds > 0, turns):
        splits = reader is not None and turns.is_under_way and reader.may_split_before(record)
        if reader is None or record.opens or splits:
            if reader:
                yield (closed := reader.close(continued=splits))
                facts = facts.after(closed)
            reader = RoundReader(facts, record.ref.offset)
        reader.take(record)
    yield (reader or RoundReader(facts, 0)).close()


def _told(lines: Iterable[Record], resumed: bool, turns: Turns) -> Iterator[Placed]:
    """The records with their places, whatever the file is: those of a single document are taken out of it."""
    rest = iter(lines)
    first = next(rest, None)
    if first is None:
        return iter(())
    if oldest.is_document(first, resumed):
        return _placed(oldest.objects(chain([first], rest), resumed), turns)
    begun, is_stream = _beginning(first, rest)
    whole = chain(begun, rest)
    return stream.placed(whole) if is_stream and not resumed else _placed(whole, turns)


def _beginning(first: Record, rest: Iterator[Record]) -> tuple[list[Record], bool]:
    """The lines up to one that tells what the file is, and whether it is a stream: other words may stand before it."""
    begun = [first]
    while len(begun) < _LOOKED_AT and not _KNOWN.match(begun[-1].raw) and (record := next(rest, None)):
        begun.append(record)
    return begun, stream.is_stream(begun[-1].raw)


def _placed(lines: Iterable[Record], turns: Turns) -> Iterator[Placed]:
    """Each record with its place; damage is a record too, a torn tail not yet one."""
    for record, line, what in salvage.told(lines, records.decode):
        if line is None:
            place = Ref(record.offset, record.length)
            yield from turns.damaged(Placed(Line("damaged", {"what": what}), place, "damaged"))
        else:
            for item in chats.apart(line):
                place = Ref(record.offset, record.length, _id_of(item), at=_time_of(item))
                yield from turns.take(item, place)
    yield from turns.release(answered=False)


def _time_of(line: Line) -> str | None:
    """When a record was written; a session without a time is written with one that stands for none."""
    return line.timestamp if line.timestamp not in ("", EPOCH) else None


def _id_of(line: Line) -> str | None:
    """The record's own id, else its ordinal; events name their turn, not themselves."""
    own = text(line.payload, "id") if line.type != "event_msg" else None
    return own or (str(line.ordinal) if line.ordinal is not None else None)
