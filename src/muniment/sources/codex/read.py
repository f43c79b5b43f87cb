"""Codex records to rounds.

Every round is read by a reader of its own that knows the facts before it and nothing else, so reading may begin at
any round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muniment.model import Facts, Ref, Round
from muniment.sources import salvage
from muniment.sources.codex import chats, oldest, records
from muniment.sources.codex.records import Line, text
from muniment.sources.codex.rounds import RoundReader
from muniment.sources.codex.turns import Placed, Turns
from muniment.sources.lines import Record


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a rollout, the last one still open."""
    reader: RoundReader | None = None
    for record in _placed(oldest.items(lines, facts.rounds > 0)):
        if reader is None or record.opens:
            if reader:
                yield (closed := reader.close())
                facts = facts.after(closed)
            reader = RoundReader(facts, record.ref.offset)
        reader.take(record)
    yield (reader or RoundReader(facts, 0)).close()


def _placed(lines: Iterable[Record]) -> Iterator[Placed]:
    """Each record with its place; damage is a record too, a torn tail not yet one."""
    turns = Turns()
    for record, line, what in salvage.told(lines, records.decode):
        if line is None:
            place = Ref(record.offset, record.length)
            yield from turns.damaged(Placed(Line("damaged", {"what": what}), place, "damaged"))
        else:
            for item in chats.apart(line):
                place = Ref(record.offset, record.length, _id_of(item), at=item.timestamp or None)
                yield from turns.take(item, place)
    yield from turns.release(answered=False)


def _id_of(line: Line) -> str | None:
    """The record's own id, else its ordinal; events name their turn, not themselves."""
    own = text(line.payload, "id") if line.type != "event_msg" else None
    return own or (str(line.ordinal) if line.ordinal is not None else None)
