"""The pieces of a history into rounds: every turn is a message, and a person's turn opens a round.

What Claude Code and Cursor write under the name of the person stands there in a history too, and is told from prompts
as it is in their own files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muniment.model import Event, Facts, Ref, Round, Text, Thinking, Unknown
from muniment.sources.builder import RoundBuilder, quiet
from muniment.sources.claude import prompts
from muniment.sources.cursor import asked
from muniment.sources.lines import Record, too_long
from muniment.sources.specstory import markdown, told, tools

_SIDE = "sidechain"
"""All subagents: a history does not tell one from another."""


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of these lines, the last one still open."""
    reader = Reader(facts)
    for record in lines:
        if record.torn:
            continue  # a piece has no end of its own: without its newline it may go on
        if closed := reader.take(record):
            yield closed
    yield reader.close()


class Reader:
    """Reads one piece after the other into an open round."""

    def __init__(self, facts: Facts) -> None:
        self.round = RoundBuilder(facts.rounds + 1, 0)
        self.begun = False
        self.head_at: str | None = None
        """The time at the top: that of the first message, if it has none of its own."""
        self.command: str | None = None
        """The label of a slash command. What it stands for follows at once, under the same label."""

    def take(self, record: Record) -> Round | None:
        """Read one piece; gives the round that it closes, if it does."""
        kind, raw = markdown.piece(record.raw)
        if not self.begun:
            self.round.offset, self.begun = record.offset, True
        if kind == markdown.USER:
            return self._user(raw, record)
        self.command = None
        if kind == markdown.AGENT:
            label, body = told.split_turn(raw)
            self._turn(kind, label, body, record)
        else:
            self._put(kind, raw, record)
        return None

    def close(self) -> Round:
        """The open round as it stands."""
        return self.round.close()

    def _put(self, kind: bytes, raw: str, record: Record) -> None:
        ref = Ref(record.offset, record.length)
        if kind == markdown.TOOL:
            self.round.add_to_latest(tools.tool(raw, ref))
        elif kind == markdown.THINK:
            self.round.add_to_latest(Thinking(told.thought(raw), ref=ref))
        elif kind == markdown.TEXT:
            self.round.add_to_latest(Text(told.trimmed(raw), ref))
        elif kind == markdown.TWIN:
            self.round.add_to_latest(quiet("twin of a tool", ref, raw))
        elif kind == markdown.HEAD:
            self._head(raw, ref)
        elif record.length:
            what = too_long(record) or "not a piece of a history"
            self.round.add_to_latest(Unknown(kind="damaged", damage=what, ref=ref))

    def _head(self, raw: str, ref: Ref) -> None:
        title, session, at = told.head(raw)
        ref, self.head_at = Ref(ref.offset, ref.length, at=at), at
        self.round.add(quiet("head", ref, raw))
        if title:
            self.round.add(quiet("title", ref, {"title": title, "by": "ai"}))
        if session:
            self.round.add(quiet("link", ref, {"kind": "rendered", "session": session}))

    def _user(self, raw: str, record: Record) -> Round | None:
        label, body = told.split_turn(raw)
        if told.is_side(label):
            self._turn(markdown.USER, label, body, record)
            return None
        if put_in := self._put_in_as(label, body):
            self.round.add(Event(put_in, body, ref=Ref(record.offset, record.length, at=told.time_of(label))))
            return None
        closed = None
        if self.round.prompted:
            closed = self.round.close()
            self.round = RoundBuilder(self.round.number + 1, record.offset)
        self.round.prompted, self.command = True, None
        self._turn(markdown.USER, label, body, record)
        if title := prompts.command_line(body):
            self.round.add(quiet("title", Ref(record.offset, record.length), {"title": title, "by": "prompt"}))
            self.command = label if told.time_of(label) and not told.is_ruled(raw) else None
        return closed

    def _put_in_as(self, label: str, body: str) -> str | None:
        """What a turn of the user is called that the program wrote; none for a person's."""
        if asked.is_notice(body):
            return "task notification"
        return prompts.injected_kind(body) or ("injected" if label == self.command else None)

    def _turn(self, kind: bytes, label: str, body: str, record: Record) -> None:
        at = told.time_of(label)
        ref = Ref(record.offset, record.length, at=at)
        fields = {"model": told.model_of(label)} if kind == markdown.AGENT else {}
        if told.is_side(label):
            fields["sidechain"] = _SIDE
        at, self.head_at = at or self.head_at, None
        draft = self.round.message("user" if kind == markdown.USER else "assistant", at=at, **fields)
        silence = "empty message" if kind == markdown.USER else "turn"
        draft.blocks.append(Text(body, ref) if body else quiet(silence, ref))
