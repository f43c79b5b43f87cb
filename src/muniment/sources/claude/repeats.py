"""Records that the program writes again, after compactions, forks and resumes: copies, often with other fields around.

A copy keeps its id, and its time or its parent. So a record is looked for in the closed rounds only if it is older than
what the open one began with, hangs on nothing in it, or comes behind a copy: all others cost a look, and no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from muniment.model import Block, Event, Facts, Media, Ref, Round, Thinking, Tool, Unknown
from muniment.sources.base import Closed
from muniment.sources.builder import RoundBuilder
from muniment.sources.claude.records import Line
from muniment.sources.lines import Record

Said = list[Any]
"""What a record says: words, thoughts, calls, results, media."""


class Repeats:
    """The records of the open round, and those of the closed ones once a copy is suspected."""

    def __init__(self, facts: Facts, closed: Closed | None) -> None:
        self.closed = closed
        self.until = facts.ended or ""
        """Records that are older may be copies."""
        self.going_on = False
        """Whether the record before was a copy."""
        self.seen: dict[str, int] = {}
        """A fingerprint of every record of the open round."""
        self.open: dict[str, Said] | None = None
        """What they say, until one more is read."""
        self.paid: set[str] = set()
        """Those that say more than a closed round has of them: what they cost was counted there."""
        self.holding: dict[int, tuple[int, ...]] = {}
        """The closed rounds that hold a record, by the hash of its id: there may be hundreds of thousands of ids."""
        self.known = 0
        """So many closed rounds were looked through."""
        self.latest: tuple[int, dict[str, Said]] = (0, {})
        """The round that was looked into last: copies come in the order of what they copy."""

    def has(
        self, record: Record, id_: str, line: Line, round_: RoundBuilder, says: Callable[[Record, Line], Said]
    ) -> bool:
        """Whether a record says nothing but what was said under its id before."""
        fingerprint = hash((record.length, record.raw[-256:]))
        known = self.seen.get(id_)
        if known is not None:
            self.going_on = known == fingerprint or _adds_nothing(says(record, line), self._in_open(id_, round_))
        elif self.going_on or (line.timestamp or "") < self.until or self._hangs_elsewhere(line):
            self.going_on = self._is_in_closed(record, id_, line, round_, says)
        if id_ in self.paid and line.message:
            line.message.usage = None
        if not self.going_on:
            self.seen[id_] = fingerprint
            self.open = None
        return self.going_on

    def _hangs_elsewhere(self, line: Line) -> bool:
        """Whether a record follows none of the open round; a compaction follows none at all."""
        return line.parent not in self.seen and (line.parent is not None or line.type != "system")

    def begin(self, ref: Ref, closed: Round | None) -> None:
        """A prompt opens a round, and closes another if there was one."""
        self.until = max(self.until, ref.at or "")
        if closed:
            self.until = max([self.until, *(message.at or "" for message in closed.messages)])
            own = {ref.id: self.seen.pop(ref.id)} if ref.id in self.seen else {}
            if self.holding and self.known == closed.number - 1:
                self._hold(closed.number, self.seen)
            self.seen, self.paid = own, set()

    def _in_open(self, id_: str, round_: RoundBuilder) -> Said:
        if self.open is None:
            blocks = (block for draft in round_.drafts for block in draft.blocks)
            self.open = said([*blocks, *round_.waiting])
        return self.open.get(id_, [])

    def _is_in_closed(
        self, record: Record, id_: str, line: Line, round_: RoundBuilder, says: Callable[[Record, Line], Said]
    ) -> bool:
        """What a reading begins with is no copy, or it would have opened no round."""
        if self.closed is None or not round_.prompted or not (told := self._told(id_, round_.number, self.closed)):
            return False
        if _adds_nothing(says(record, line), told):
            return True
        self.paid.add(id_)
        return False

    def _told(self, id_: str, open_round: int, closed: Closed) -> Said:
        """What the closed rounds know a record to say; nothing if they have none of that id."""
        for number in range(self.known + 1, open_round):
            self._hold(number, said(closed(number).blocks()))
        numbers = self.holding.get(hash(id_), ())
        return [what for number in numbers for what in self._said_in(number, closed).get(id_, [])]

    def _hold(self, number: int, ids: Iterable[str]) -> None:
        here = (number,)
        for held in map(hash, ids):
            self.holding[held] = self.holding[held] + here if held in self.holding else here
        self.known = number

    def _said_in(self, number: int, closed: Closed) -> dict[str, Said]:
        if self.latest[0] != number:
            self.latest = (number, said(closed(number).blocks()))
        return self.latest[1]


def said(blocks: Iterable[Block]) -> dict[str, Said]:
    """What the records say that blocks were made of, by their ids."""
    told: dict[str, Said] = {}
    for block in blocks:
        if block.ref.id and not (isinstance(block, Tool) and block.name is None):
            told.setdefault(block.ref.id, []).append(_content(block))
        if isinstance(block, Tool) and block.result and block.result.id:
            told.setdefault(block.result.id, []).append((block.id, block.output, block.is_error))
    return told


def _content(block: Block) -> Any:
    """What a block says, whoever is taken to have said it; of one without words, what it is."""
    match block:
        case Tool():
            return block.id, block.name, block.input
        case Thinking():
            return block.text, block.signature, block.redacted
        case Media():
            return block.name, block.media_type
        case Unknown():
            return block.kind, block.value
        case Event():
            return block.text or block.kind
        case _:
            return block.text


def _adds_nothing(what: Said, told: Said) -> bool:
    return all(one in told for one in what)
