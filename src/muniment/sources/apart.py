"""Lines to rounds, each of them by a reader of its own.

Such a reader knows the facts before its round and nothing else, so reading may begin at any round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from muniment.model import Facts, Ref, Round
from muniment.sources import salvage
from muniment.sources.builder import RoundBuilder
from muniment.sources.lines import Record

Line = TypeVar("Line")


class Reader(Protocol):
    """One round being read."""

    round: RoundBuilder

    def damaged(self, what: str, ref: Ref) -> None: ...

    def close(self) -> Round: ...


Own = TypeVar("Own", bound=Reader)


class Way(Struct, Generic[Line, Own], frozen=True):
    """How the lines of a format are read."""

    decode: Callable[[bytes], Line]
    """What a line holds. Raises ValueError with what is wrong with it."""
    opens: Callable[[Line], bool]
    """Whether a human prompt begins a new round here."""
    begin: Callable[[Facts, int], Own]
    """The reader of a round that begins at this offset."""
    take: Callable[[Own, Line, Record], None]


def read(lines: Iterable[Record], facts: Facts, way: Way[Line, Own]) -> Iterator[Round]:
    """The rounds of these lines, the last one still open."""
    reader: Own | None = None
    for record, line, what in salvage.told(lines, way.decode):
        if reader and reader.round.prompted and line is not None and way.opens(line):
            yield (closed := reader.close())
            facts = facts.after(closed)
            reader = None
        reader = reader or way.begin(facts, record.offset)
        if line is not None:
            way.take(reader, line, record)
        else:
            reader.damaged(what, Ref(record.offset, record.length))
    yield (reader or way.begin(facts, 0)).close()
