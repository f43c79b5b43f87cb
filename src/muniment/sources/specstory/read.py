"""The pieces of a history into rounds: every turn is a message, and a person's turn opens a round.

What Claude Code writes under the name of the person stands there in a history too, and is told from prompts as it is in
its own files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muniment.model import Event, Facts, Ref, Round, Text, Thinking, Unknown
from muniment.sources.builder import RoundBuilder, quiet, rounds_of
from muniment.sources.claude import prompts
from muniment.sources.lines import Record, too_long
from muniment.sources.specstory import markdown, told, tools

_SIDE = "sidechain"
"""All subagents: a history does not tell one from another."""


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of these lines, the last one still open."""
    return rounds_of(Reader(facts), lines, _torn)


def _torn(line: bytes) -> None:
    raise ValueError("a piece has no end of its own: without its newline it may go on")


class Reader:
    """Reads one piece after the other into an open round."""

    def __init__(self, facts: Facts) -> None:
        self.round = RoundBuilder(facts.rounds + 1, 0)
        self.begun = False

    def take(self, record: Record) -> Round | None:
        """Read one piece; gives the round that it closes, if it does."""
        kind, raw = markdown.piece(record.raw)
        closed = None
        if kind == markdown.USER and self.round.prompted and told.is_prompt(raw):
            closed = self.round.close()
            self.round, self.begun = RoundBuilder(self.round.number + 1, record.offset), True
        elif not self.begun:
            self.round.offset, self.begun = record.offset, True
        self._put(kind, raw, record)
        return closed

    def close(self) -> Round:
        """The open round as it stands."""
        return self.round.close()

    def _put(self, kind: bytes, raw: str, record: Record) -> None:
        if kind == markdown.AGENT or kind == markdown.USER:
            self._turn(kind, raw, record)
            return
        ref = Ref(record.offset, record.length)
        if kind == markdown.TOOL:
            self.round.add(tools.tool(raw, ref))
        elif kind == markdown.THINK:
            self.round.add(Thinking(told.thought(raw), ref=ref))
        elif kind == markdown.TEXT:
            self.round.add(Text(told.trimmed(raw), ref))
        elif kind == markdown.TWIN:
            self.round.add(quiet("twin of a tool", ref, raw))
        elif kind == markdown.HEAD:
            self._head(raw, ref)
        elif record.length:
            what = too_long(record) or "not a piece of a history"
            self.round.add(Unknown(kind="damaged", damage=what, ref=ref))

    def _head(self, raw: str, ref: Ref) -> None:
        title, session, at = told.head(raw)
        ref = Ref(ref.offset, ref.length, at=at)
        self.round.add(quiet("head", ref, raw))
        if title:
            self.round.add(quiet("title", ref, {"title": title, "by": "ai"}))
        if session:
            self.round.add(quiet("link", ref, {"kind": "rendered", "session": session}))

    def _turn(self, kind: bytes, raw: str, record: Record) -> None:
        label, body = told.split_turn(raw)
        at, side = told.time_of(label), told.is_side(label)
        ref = Ref(record.offset, record.length, at=at)
        if kind == markdown.USER and not side and (what := prompts.injected_kind(body)):
            self.round.add(Event(what, body, ref=ref))
            return
        self.round.prompted |= kind == markdown.USER and not side
        fields = {"model": told.model_of(label)} if kind == markdown.AGENT else {}
        if side:
            fields["sidechain"] = _SIDE
        draft = self.round.message("user" if kind == markdown.USER else "assistant", at=at, **fields)
        silence = "empty message" if kind == markdown.USER else "turn"
        draft.blocks.append(Text(body, ref) if body else quiet(silence, ref))
