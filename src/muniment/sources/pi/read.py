"""pi entries to rounds.

Every line is one entry. A round begins with a person's message, or where the tree goes on from an entry that is not
the last one: what follows such a jump belongs to the prompt that comes next. Results find their calls by id. Words
that come while the agent waits for a tool steer it: they open no round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from muniment.model import Facts, Ref, Round, Unknown, Usage
from muniment.model.codec import mapping
from muniment.sources.builder import RoundBuilder, count, quiet, rounds_of
from muniment.sources.lines import Record
from muniment.sources.pi import events, parts, records
from muniment.sources.pi.records import CUSTOM_ROLES, QUEUED, rest, text

_FILE_ID = re.compile(r".*_([^/\\]+)\.jsonl")


def read(lines: Iterable[Record], facts: Facts) -> Iterator[Round]:
    """The rounds of a session, the last one still open."""
    return rounds_of(Reader(facts), lines, records.decode)


class Reader:
    """The open round, and what must be known to read the next entry."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.round = RoundBuilder(facts.rounds + 1, 0)
        self.begun = False
        self.folder: str | None = None
        """The working folder, until a message has told it."""
        self.headed = facts.rounds > 0
        self.last: str | None = None
        """The entry before, if it is known."""
        self.at_work = False
        """The agent has stopped for its tools and will go on."""
        self.steered = False

    def take(self, record: Record, entry: dict[str, Any]) -> Round | None:
        """Read one line; gives the round that it closes, if it does."""
        first = not self.begun
        if first:
            self.begun, self.round.offset = True, record.offset
        if entry["type"] == "session":
            self._header(entry, Ref(record.offset, record.length, at=text(entry, "timestamp")))
            return None
        return self._entry(entry, record, first)

    def close(self) -> Round:
        """The open round as it stands."""
        if self.round.waiting:
            at = next((block.ref.at for block in self.round.waiting if block.ref.at), None)
            self.round.message("assistant", at=at, **self._changes())
        return self.round.close()

    def damaged(self, record: Record, what: str) -> None:
        """Keep the place of what cannot be read; what hung on it is not known."""
        if not self.begun:
            self.begun, self.round.offset = True, record.offset
        self.round.add(Unknown(kind="damaged", damage=what, ref=Ref(record.offset, record.length)))
        self.last = None

    def _header(self, entry: dict[str, Any], ref: Ref) -> None:
        self.round.add(quiet("header", ref, rest(entry, "type")))
        if not self.headed:
            self.headed, self.folder = True, text(entry, "cwd") or None
            if self.round.drafts:  # a header that stands too late
                self.round.drafts[-1].fields |= self._changes()
            former = text(entry, "parentSession") or text(entry, "branchedFrom") or ""
            if named := _FILE_ID.fullmatch(former):
                self.round.add(quiet("link", Ref(ref.offset, ref.length), {"kind": "fork", "session": named[1]}))

    def _entry(self, entry: dict[str, Any], record: Record, first: bool) -> Round | None:
        id_, parent = text(entry, "id"), text(entry, "parentId")
        ref = Ref(record.offset, record.length, id_, parent, text(entry, "timestamp"))
        message = mapping(entry.get("message")) if entry["type"] == "message" else {}
        steers = message.get("role") == "user" and self._steers(entry)
        jumps = self.last is not None and id_ is not None and parent != self.last
        closed = None
        if self.round.prompted and (jumps or (message.get("role") == "user" and not steers)):
            closed = self.round.close()
            self.round = RoundBuilder(self.round.number + 1, ref.offset)
            self.at_work = self.steered = steers = False
            self.last = None
            first = True
        if first and self.round.number > 1:
            self.round.parent = parent
        self.last = id_ or self.last
        if message:
            self._message(message, ref, steers)
            if message.get("role") == "user" and isinstance(entry.get(QUEUED), bool):
                self.round.drafts[-1].raw = {QUEUED: entry[QUEUED]}
        else:
            self.round.add(events.event(entry, ref))
        return closed

    def _steers(self, entry: dict[str, Any]) -> bool:
        """Whether words come while the agent works; files that were written from another agent's session say so."""
        told = entry.get(QUEUED)
        return told if isinstance(told, bool) else self.at_work or self.steered

    # -- messages

    def _message(self, message: dict[str, Any], ref: Ref, steers: bool) -> None:
        role = text(message, "role")
        if role == "user":
            self._user(message, ref, steers)
        elif role == "assistant":
            self._answer(message, ref)
        elif role == "toolResult":
            self._result(message, ref)
        elif role == "bashExecution" and text(message, "command") is not None:
            self._command(message, ref)
        elif role in CUSTOM_ROLES:
            self.round.add(events.custom_message(message, {"message": rest(message, "content")}, ref))
        else:
            self.round.add(quiet(f"message {role}", ref, {"message": message}))

    def _user(self, message: dict[str, Any], ref: Ref, steers: bool) -> None:
        queued = steers and self.round.prompted
        self.round.prompted, self.steered = True, queued
        draft = self.round.message("user", at=ref.at, **({"queued": True} if queued else {}), **self._changes())
        draft.blocks += parts.given(message.get("content"), ref, self.round) or [quiet(events.EMPTY, ref)]

    def _answer(self, message: dict[str, Any], ref: Ref) -> None:
        self.at_work, self.steered = message.get("stopReason") == "toolUse", False
        model = text(message, "model")
        about = {"id": text(message, "responseId"), "model": model, "usage": _usage(message.get("usage"))}
        draft = self.round.message("assistant", at=ref.at, **about, **self._changes())
        before = len(draft.blocks)
        extras = parts.answered(message.get("content"), ref, self.round, draft)
        told = ("role", "content", "model") if model is not None else ("role", "content")
        draft.raw = rest(message, *told) | ({"extras": extras} if extras else {})
        if error := text(message, "errorMessage"):
            draft.blocks.append(events.failed(error, ref))
        if len(draft.blocks) == before:
            draft.blocks.append(quiet(events.EMPTY, ref))

    def _result(self, message: dict[str, Any], ref: Ref) -> None:
        content = message.get("content")
        output = tuple(parts.given(content, Ref(), self.round))
        place = parts.plain(ref) if isinstance(content, str) else ref
        is_error = message.get("isError")
        known = is_error if isinstance(is_error, bool) else None
        self.round.result(str(message.get("toolCallId")), output=output, is_error=known, result=place)
        more = rest(message, "role", "toolCallId", "toolName", "content", "isError", "timestamp")
        if more:
            self.round.add(quiet(events.DETAILS, ref, more))

    def _command(self, message: dict[str, Any], ref: Ref) -> None:
        """A command that the person ran: a tool call that is nobody's answer, so it has no model."""
        tool = events.command(message, ref)
        draft = self.round.message("assistant", at=ref.at, **self._changes())
        draft.blocks.append(tool)
        draft.raw = {"role": "bashExecution"} | rest(message, "role", "command", "output")

    def _changes(self) -> dict[str, str]:
        """The working folder, where it differs from before."""
        folder, self.folder = self.folder, None
        return {"cwd": folder} if folder and folder != self.facts.cwd else {}


def _usage(said: Any) -> Usage | None:
    """Tokens of an answer: cached ones stand beside the input."""
    fields = mapping(said)
    if not fields:
        return None
    names = ("input", "output", "cacheRead", "cacheWrite")
    return Usage(*(count(fields, name) for name in names))
