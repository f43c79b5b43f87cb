"""Records that the program writes again, after compactions, forks and resumes: copies, often with other fields around.

A copy keeps its id or its time, and what it says. So a record is looked for in the closed rounds only if it is older
than what the open one began with, hangs on nothing in it, or comes behind a copy: others cost a look, and no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from muniment.model import Block, Event, Facts, Media, Ref, Round, Thinking, Tool, Unknown
from muniment.model.codec import mapping
from muniment.sources.base import Closed
from muniment.sources.builder import RoundBuilder
from muniment.sources.claude.lines import NO_TIME
from muniment.sources.claude.records import Line
from muniment.sources.lines import Record

REPEATED = "repeated record"
"""The event that stands for a copy. Its place has the id of the copy, and for a parent that of what it copies."""

Said = dict[str, list[Any]]
"""What records say, words, thoughts, calls, results, media, by their ids; by their times together with their ids."""

Says = Callable[[Record, Line], Said]
"""Reads a record on its own."""


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
        self.times: dict[str | None, str | None] = {}
        """When its records were written, and what the first of each moment begins with: the same again is suspected."""
        self.open: Said | None = None
        """What they say, until one more is read."""
        self.paid: set[str] = set()
        """Those that say more than a closed round has of them: what they cost was counted there."""
        self.holding: dict[int, tuple[int, ...]] = {}
        """The closed rounds that hold a record, by the hash of its id: there may be hundreds of thousands of ids."""
        self.original: str | None = None
        """The id of what the last copy copies, where its own is another."""
        self.known = 0
        """So many closed rounds were looked through."""
        self.latest: tuple[int, Said] = (0, {})
        """The round that was looked into last: copies come in the order of what they copy."""

    def has(self, record: Record, id_: str, line: Line, round_: RoundBuilder, says: Says) -> bool:
        """Whether a record says nothing but what was said before, under its id or, under another, at its time."""
        fingerprint = hash((record.length, record.raw[-256:]))
        known = self.seen.get(id_)
        self.original = None
        if known is not None:
            told = self._in_open(round_).get(id_, []) if known != fingerprint else []
            self.going_on = known == fingerprint or _adds_nothing(says(record, line).get(id_, []), told)
        elif self.going_on or (line.timestamp or "") < self.until or self._hangs_elsewhere(line):
            self.going_on = self._is_copy(record, id_, line, round_, says)
        else:
            first = self.times.get(line.timestamp) if line.timestamp != NO_TIME else None
            suspected = first is not None and first == _first_part(line)
            self.going_on = suspected and self._is_said_at(record, line, round_, says, None)
        if not self.going_on:
            self.seen[id_] = fingerprint
            self.open = None
            if line.timestamp not in self.times:
                self.times[line.timestamp] = _first_part(line)
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
                self._hold(closed.number, said_in(closed))
            self.times = {ref.at: self.times[ref.at]} if ref.at in self.times else {}
            self.seen, self.paid = own, set()

    def _in_open(self, round_: RoundBuilder) -> Said:
        if self.open is None:
            drafts = ((draft.fields.get("id"), draft.blocks) for draft in round_.drafts)
            self.open = said([*drafts, (None, round_.waiting)])
        return self.open

    def _is_copy(self, record: Record, id_: str, line: Line, round_: RoundBuilder, says: Says) -> bool:
        """What a reading begins with is no copy, or it would have opened no round and continued none."""
        if self.closed is None or not round_.prompted or (round_.continues and not self.seen):
            return False
        if told := self._told(id_, round_.number, self.closed):
            copied = _adds_nothing(says(record, line).get(id_, []), told)
        else:
            copied = self._is_said_at(record, line, round_, says, self.closed)
            told = self._told(_answer(line), round_.number, self.closed)
        if told and not copied:
            self.paid.add(id_)
        return copied

    def _is_said_at(self, record: Record, line: Line, round_: RoundBuilder, says: Says, closed: Closed | None) -> bool:
        """Whether all that a record says was said at its time, by a record with another id."""
        time, answer = _time(line.timestamp), _answer(line)
        told = self._in_open(round_).get(time, []) if line.timestamp in self.times else []
        told = [*told, *(self._told(time, round_.number, closed) if closed else ())]
        if not told or not self._is_known(answer, round_, closed):
            return False
        what = [one for one, _ in says(record, line).get(time, [])]
        ids = [next((id_ for other, id_ in told if one == other), None) for one in what]
        if not ids or None in ids or (not self.going_on and all(map(_is_wordless, what))):
            return False
        self.original = ids[-1]
        return True

    def _is_known(self, answer: str, round_: RoundBuilder, closed: Closed | None) -> bool:
        """Whether an answer was met before; what is no answer needs none."""
        if answer == _ANSWER or answer in self._in_open(round_):
            return True
        return closed is not None and bool(self._told(answer, round_.number, closed))

    def _told(self, key: str, open_round: int, closed: Closed) -> list[Any]:
        """What the closed rounds have under a key; nothing if they do not have it."""
        for number in range(self.known + 1, open_round):
            self._hold(number, said_in(closed(number)))
        numbers = self.holding.get(hash(key), ())
        return [what for number in numbers for what in self._said_in(number, closed).get(key, [])]

    def _hold(self, number: int, keys: Iterable[str]) -> None:
        here = (number,)
        for held in map(hash, keys):
            self.holding[held] = self.holding[held] + here if held in self.holding else here
        self.known = number

    def _said_in(self, number: int, closed: Closed) -> Said:
        if self.latest[0] != number:
            self.latest = (number, said_in(closed(number)))
        return self.latest[1]


def said_in(round_: Round) -> Said:
    """Return what the records say that a round was made of."""
    return said((message.id, message.blocks) for message in round_.messages)


def said(messages: Iterable[tuple[str | None, Iterable[Block]]]) -> Said:
    """Return what the records say that these messages, each with its own id, were made of."""
    told: Said = {}
    for answer, blocks in messages:
        for block in blocks:
            if block.ref.id and not _stands_for_another(block):
                content = _content(block)
                told.setdefault(block.ref.id, []).append(content)
                whole = Happened(block.kind, block.text, block.detail) if isinstance(block, Event) else content
                told.setdefault(_time(block.ref.at), []).append((whole, block.ref.id))
            if isinstance(block, Tool) and block.result and block.result.id:
                result = (block.id, block.output, block.is_error)
                told.setdefault(block.result.id, []).append(result)
                told.setdefault(_time(block.result.at), []).append((result, block.result.id))
        if answer:
            told[_ANSWER + answer] = [answer]
    for no_time in (None, NO_TIME):  # what was never timed was not said at the same moment
        told.pop(_time(no_time), None)
    return told


class Happened(NamedTuple):
    """What an event says."""

    kind: str
    text: str
    detail: Any


def _is_wordless(told: Any) -> bool:
    """Events of one moment and kind may be about different things: without words only the copy before one tells."""
    return isinstance(told, Happened) and not told.text and told.detail is None


_ANSWER = "answer "


def _answer(line: Line) -> str:
    """The key of an answer of the API, whose cost counts once."""
    return _ANSWER + ((line.message.id if line.message else None) or "")


def _time(at: str | None) -> str:
    return f"at {at or ''}"


def _first_part(line: Line) -> str | None:
    """What a message begins with: enough to tell most messages of one moment apart; None if it is no text or call."""
    content: Any = line.message.content if line.message else None
    if not content or isinstance(content, str):
        return content or None
    part = mapping(content[0])
    first = part.get("text") or part.get("tool_use_id") or part.get("id")
    return first if isinstance(first, str) else None


def _stands_for_another(block: Block) -> bool:
    """Whether a block is a result without its call, or points at a copy: what it says stands elsewhere."""
    return (isinstance(block, Tool) and block.name is None) or (isinstance(block, Event) and block.kind == REPEATED)


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


def _adds_nothing(what: list[Any], told: list[Any]) -> bool:
    return all(one in told for one in what)
