"""What the formats that a recorder can write have in common: a dialect makes them readable and writable at once.

Reading: lines → events (the dialect) → rounds (`read`). Writing a session of the same format: its very lines (`lines`).
Writing one of another agent: rounds → events (`retell`) → lines (the dialect).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from muniment.errors import Unsupported
from muniment.model import Facts, Loss, Round, Unknown, Usage, codec
from muniment.model import events as types
from muniment.model.codec import mapping
from muniment.model.events import Event
from muniment.sources.base import MediaBytes, Move, Source
from muniment.sources.dialect import Dialect
from muniment.sources.lines import Record
from muniment.sources.lines import records as split
from muniment.sources.losses import Losses
from muniment.sources.recorded import lines
from muniment.sources.recorded.parts import fields_shown
from muniment.sources.recorded.read import read
from muniment.sources.recorded.retell import Teller, told_usage

_WORDS = {types.SUMMARY: "compaction", types.USER: "prompt", types.ASSISTANT: "answer"}


class RecordedSource(Source):
    """A source whose files a recorder can write. Subclasses say what a header is, and where their files lie."""

    line_is_message = False
    id_length = 32
    """Hexadecimal digits of an event's id."""
    rich = False
    """Whether the format holds whatever an event says: signatures, subagents, titles."""
    subagents: Source | None = None
    """In whose lines a recorder writes the subagents of such a session, where not in its own."""

    @property
    def spoken(self) -> Dialect:
        assert self.dialect, "a recorded source has a dialect"
        return self.dialect

    # -- for the formats

    def events(self, value: Any) -> list[Event]:
        """What a line says that is JSON already. Raises ValueError if it is no line of this format."""
        raise NotImplementedError

    def shown(self, event: Event) -> str:
        """The words of an event of the harness's own that a reader wants to see."""
        return fields_shown(mapping(event.payload)) if event.type in types.SHOWN else ""

    def usage(self, payload: dict[str, Any]) -> Usage | None:
        """The tokens that an answer tells."""
        return told_usage(payload)

    def header(self, facts: Facts, move: Move) -> dict[str, Any]:
        """What the header of a session of another agent says."""
        cwd = move.cwd or facts.first_cwd or facts.cwd
        said: dict[str, Any] = {"session_id": move.session_id or facts.session_id, "start_ts": facts.started}
        return said | {"resumed_from": None, "cwd": cwd} | ({"model": facts.model} if facts.model else {})

    def moved_header(self, line: dict[str, Any], facts: Facts, move: Move) -> dict[str, Any] | None:
        """A header with identity and folder changed; None for any other line."""
        raise NotImplementedError

    def moved_name(self, name: str, facts: Facts, move: Move) -> str:
        """The name of an original file once the session has moved or taken a new identity."""
        raise NotImplementedError

    def is_grant(self, line: dict[str, Any]) -> bool:
        """Whether a line grants something: such a line is never written."""
        return False

    def told(self, events: list[Event], losses: Losses) -> list[bytes]:
        """Events of another agent's session as lines."""
        return [written.line for written in self.spoken.lines(events)]

    # -- the door

    def read(self, records: Iterable[Record], facts: Facts) -> Iterator[Round]:
        if self.subagents is None or facts.sidechain is None:
            return read(self, records, facts)
        rest = iter(records)
        first = list(islice(rest, 1))
        others = any(self.subagents.matches(Path(), record.raw) for record in first)
        return self.subagents.read(chain(first, rest), facts) if others else read(self, chain(first, rest), facts)

    def write(
        self, rounds: Iterable[Round], facts: Facts, move: Move, media: MediaBytes, losses: list[Loss]
    ) -> Iterator[bytes]:
        writer = _Writer(self, facts, move, media)
        for round_ in rounds:
            for line in writer.round(round_):
                yield line + b"\n"
        for line in writer.end():
            yield line + b"\n"
        losses += writer.losses.all()

    def moved(self, name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
        return self.moved_name(name, facts, move), self._moved_lines(pieces, facts, move)

    def _moved_lines(self, pieces: Iterable[bytes], facts: Facts, move: Move) -> Iterator[bytes]:
        for record in split(pieces):
            line = record.raw
            try:
                changed = self.moved_header(mapping(codec.loads(line)), facts, move)
            except ValueError:
                changed = None
            yield (codec.encode(changed) if changed else line) + (b"" if record.torn else b"\n")


class _Writer:
    """One session on its way into a file."""

    def __init__(self, form: RecordedSource, facts: Facts, move: Move, media: MediaBytes) -> None:
        self.form, self.facts, self.move, self.media = form, facts, move, media
        self.losses = Losses()
        session_id = move.session_id or facts.session_id
        self.teller = Teller(facts, session_id, form, media, self.losses)
        self.begun = self.retold = False

    def round(self, round_: Round) -> Iterator[bytes]:
        own = self.facts.source == self.form.name and lines.has_lines(round_)
        made = self._own(round_) if own else self._told(round_)
        if not self.begun and not (own and round_.number == 1 and self._keeps_header(round_)):
            yield from self._header()
        self.begun, self.retold = True, not own
        yield from made

    def end(self) -> Iterator[bytes]:
        """A session without rounds is a header."""
        if not self.begun:
            yield from self._header()
        if self.retold:
            for event in self.teller.title(self.facts):
                yield from self._lines([event])

    def _header(self) -> list[bytes]:
        return self._lines([self.teller.header(self.form.header(self.facts, self.move))])

    def _keeps_header(self, round_: Round) -> bool:
        """A file that never had a header stays as it was, unless it has to say something new."""
        if self.move == Move():
            return True
        said = (mapping(value) for value, _ in lines.lines(round_, self.media))
        return any(self.form.moved_header(line, self.facts, self.move) for line in said)

    def _own(self, round_: Round) -> Iterator[bytes]:
        self.losses.where = f"round {round_.number}"
        for block in round_.blocks():
            if isinstance(block, Unknown) and block.damage:
                self.losses.add_block(block)
        for value, line in lines.lines(round_, self.media):
            if self.form.is_grant(mapping(value)):
                self.losses.add("grant", "permissions are never restored")
                continue
            changed = None if self.move == Move() else self.form.moved_header(mapping(value), self.facts, self.move)
            yield codec.encode(changed) if changed else line

    def _told(self, round_: Round) -> Iterator[bytes]:
        for group in self.teller.round(round_):
            yield from self._lines(group)

    def _lines(self, group: list[Event]) -> list[bytes]:
        """What the format can hold of some events; the rest is counted."""
        first = group[0]
        try:
            return self.form.told(group, self.losses)
        except Unsupported as error:
            self.losses.add(_WORDS.get(first.type, first.type), error.message)
            return []
