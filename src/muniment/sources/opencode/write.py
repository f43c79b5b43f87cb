"""Rounds of any source as the document that `opencode import` takes.

Sessions of opencode get their own messages back. What was allowed in a session is never written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from muniment.model import (
    Block,
    Compaction,
    Event,
    Facts,
    Loss,
    Media,
    Message,
    Round,
    Text,
    Thinking,
    Tool,
    Unknown,
    Usage,
    codec,
)
from muniment.model.codec import mapping
from muniment.sources.base import MediaBytes, Move
from muniment.sources.foreign import taken
from muniment.sources.losses import NO_PLACE, Losses
from muniment.sources.opencode import compose, flat
from muniment.sources.opencode.parts import QUEUED, unnamed
from muniment.sources.opencode.place import renamed
from muniment.sources.opencode.records import NAME, listing, milliseconds_of, native_of, text
from muniment.sources.opencode.rounds import HEAD, INJECTED

VERSION = "1.18.0"
"""The client that foreign sessions are written for."""

_REWRITTEN = frozenset({HEAD, "slug", "empty message", "error"})
"""Events that are written anew from what the session itself says."""

_QUEUED = {"metadata": QUEUED}


def write(rounds: Iterable[Round], facts: Facts, move: Move, media: MediaBytes, losses: list[Loss]) -> Iterator[bytes]:
    """The lines of the document."""
    writer = Writer(facts, move, media)
    begun = False
    for round_ in rounds:
        if not begun:
            yield writer.head(round_)
            begun = True
        yield from writer.round(round_)
    if not begun:
        yield writer.head(Round(1))
    yield writer.tail()
    losses.extend(writer.losses.all())


def session_id(facts: Facts, move: Move) -> str:
    """The id of the written session, in opencode's form."""
    if move.session_id and move.session_id != facts.session_id:
        return native_of(move.session_id)
    own = facts.source == NAME and facts.native_id
    return own or native_of(facts.session_id)


class Writer:
    """What has been written so far, as far as the next message needs it."""

    def __init__(self, facts: Facts, move: Move, media: MediaBytes) -> None:
        self.facts, self.move, self.media = facts, move, media
        self.own = facts.source == NAME and not facts.prompts_only
        self.session = session_id(facts, move)
        self.fork = self.own and self.session != facts.native_id
        self.losses = Losses(_REWRITTEN)
        self.at = milliseconds_of(facts.started) or 0
        self.cwd = move.cwd or facts.first_cwd or facts.cwd or "/"
        self.model = facts.model or "unknown"
        self.minted = 0
        self.first = True
        self.asked = self._mint("msg")
        """The message that answers belong to."""
        self.after: dict[str, Any] = {}
        """What stands behind the messages."""

    def head(self, first: Round) -> bytes:
        """What is said of the session as a whole, up to the list of its messages."""
        heads = (b.detail for b in first.blocks() if isinstance(b, Event) and b.kind == HEAD)
        kept = mapping(next(heads, None)) if self.own else {}
        rest = (b.value for b in first.blocks() if self.own and _is_around(b) and b.kind == "head")
        info = self._info(kept, "location" in kept or any(self.own and flat.is_flat(m) for m in first.messages))
        if self.fork:
            info.pop("parentID", None)
        return codec.encode({"info": info} | mapping(next(rest, None)))[:-1] + b',"messages":[\n'

    def tail(self) -> bytes:
        """The end of the list, and what stands behind it."""
        return b"]" + (b"," if self.after else b"") + codec.encode(self.after)[1:] + b"\n"

    def _info(self, kept: dict[str, Any], of_two: bool) -> dict[str, Any]:
        title = self.facts.display_title if self.facts.title or self.facts.first_prompt else self.session
        ended = milliseconds_of(self.facts.ended) or self.at
        info: dict[str, Any] = {"slug": self.facts.slug or self.session, "projectID": "global", "title": title}
        info |= {"version": VERSION, "time": {"created": self.at, "updated": ended}}
        if not of_two:
            return info | kept | {"id": self.session, "directory": self.cwd}
        least = {"projectID": "global", "title": title, "time": info["time"], "cost": 0}
        told = kept or least | {"tokens": compose.tokens(Usage())}
        place = mapping(told.get("location")) | {"directory": self.cwd}
        return told | {"id": self.session, "location": place}

    def round(self, round_: Round) -> Iterator[bytes]:
        """The messages of one round."""
        self.losses.where = f"round {round_.number}"
        for message in round_.messages:
            if message.sidechain:
                self.losses.add_subagent()
            else:
                yield from self._message(message)

    def _message(self, message: Message) -> Iterator[bytes]:
        """A message; of another agent's, one in which the context was cut becomes several."""
        if self.own and flat.is_flat(message):
            yield from self._record(message)
            return
        own_at = milliseconds_of(message.at)
        self.at = own_at if self.own and own_at is not None else max(self.at, own_at or 0)
        notes = mapping(mapping(message.raw).get("parts")) if self.own else {}
        parts: list[dict[str, Any]] = []
        after: list[Block] = []
        begun = False
        for block in message.blocks:
            if self.own and _stands_alone(block):
                if begun:
                    after.append(block)
                else:
                    yield from self._alone(block)
            elif isinstance(block, Compaction) and not _sums_up(message):
                yield from self._flush(message, parts)
                yield from self._compaction(block)
                parts = []
            elif part := self._part(block, notes):
                parts.append(part)
            begun = begun or bool(parts) or _is_empty(block)
        yield from self._flush(message, parts, self.own and message.id is not None)
        for block in after:
            yield from self._alone(block)

    def _record(self, message: Message) -> Iterator[bytes]:
        """A message of opencode 2, and the records around it."""
        begun = False
        for block in message.blocks:
            if not begun and flat.is_own(block, message):
                yield self._entry({"id": message.id} | flat.record(message, self.media))
                begun = True
            elif _stands_alone(block):
                yield from self._alone(block)
            elif not flat.is_own(block, message):
                self._left_out(block)

    def _entry(self, value: dict[str, Any]) -> bytes:
        """A record; in a fork under another id."""
        own = text(value, "id")
        made = compose.line(value | ({"id": self._id(own, "msg")} if own else {}), self.first)
        self.first = False
        return made

    def _alone(self, block: Block) -> Iterator[bytes]:
        """What is no part of a message, as it was."""
        if isinstance(block, Event) and block.kind == INJECTED:
            yield self._injected(block)
        elif flat.is_aside(block):
            yield self._entry(mapping(block.detail if isinstance(block, Event) else getattr(block, "value", None)))
        elif isinstance(block, Unknown) and block.kind == "tail":
            self.after |= mapping(block.value)

    def _flush(self, message: Message, parts: list[dict[str, Any]], always: bool = False) -> Iterator[bytes]:
        if not parts and not always:
            return
        asked = message.role == "user"
        info = compose.asked(self.model, self.at) if asked else self._answered(message, parts)
        if self.own:
            info |= mapping(mapping(message.raw).get("info"))
        own = self._id(message.id, "msg") if self.own else self._mint("msg")
        if message.role == "user":
            self.asked = own
            if message.queued:
                parts = [part | _QUEUED if part["type"] == "text" else part for part in parts]
        elif "parentID" in info:
            info["parentID"] = self._id(info["parentID"], "msg")
        yield self._line(own, info, parts)

    def _line(self, own: str, info: dict[str, Any], parts: list[dict[str, Any]]) -> bytes:
        info = {"id": own, "sessionID": self.session} | info
        if self.move.cwd and "path" in info:
            info["path"] = mapping(info["path"]) | {"cwd": self.move.cwd, "root": self.move.cwd}
        whole = [self._named(part, own) for part in parts]
        made = compose.line({"info": info, "parts": whole}, self.first)
        self.first = False
        return made

    def _named(self, part: dict[str, Any], message: str) -> dict[str, Any]:
        """A part under its id and in its place; the files that a call gave back are parts, too."""
        place = {"sessionID": self.session, "messageID": message}
        made = {"id": self._id(text(part, "id"), "prt")} | place | unnamed(part)
        state = mapping(part.get("state"))
        if files := listing(state, "attachments"):
            named = [{"id": self._id(text(file, "id"), "prt")} | place | unnamed(file) for file in map(mapping, files)]
            made["state"] = state | {"attachments": named}
        return made

    def _injected(self, event: Event) -> bytes:
        """A message that the program put there, as it was."""
        value = mapping(event.detail)
        info = {name: field for name, field in mapping(value.get("info")).items() if name not in ("id", "sessionID")}
        self.asked = self._id(event.ref.id, "msg")
        return self._line(self.asked, info, [mapping(part) for part in listing(value, "parts")])

    def _compaction(self, block: Compaction) -> Iterator[bytes]:
        """A cut of the context: it is asked for by a message, and the answer sums up what was before."""
        if not block.text:
            self.losses.add("compaction without a summary", NO_PLACE)
            return
        asking = Message("user")
        self.asked = self._mint("msg")
        yield self._line(self.asked, compose.asked(self.model, self.at), [{"type": "compaction", "auto": True}])
        info = self._answered(asking, []) | {"summary": True, "mode": "compaction", "agent": "compaction"}
        yield self._line(self._mint("msg"), info, [{"type": "text", "text": block.text}])

    def _answered(self, message: Message, parts: list[dict[str, Any]]) -> dict[str, Any]:
        calls = any(part["type"] == "tool" for part in parts)
        made = compose.answered(message.model or self.model, message.usage or Usage(), self.at, self.cwd, calls)
        return made | {"parentID": self.asked}

    # -- parts and ids

    def _part(self, given: Block, notes: dict[str, Any]) -> dict[str, Any] | None:
        note = mapping(notes.get(given.ref.id or ""))
        block = given if self.own else self._taken(given)
        if block is None:
            return None
        made = compose.part(block, note, self.at, self.media)
        if made is None or (isinstance(block, Thinking) and not block.text and not note):
            self._left_out(block)
            return None
        if isinstance(block, Thinking) and block.signature and not note:
            self.losses.add_signature(block)
        return made | ({"id": block.ref.id} if self.own else {})

    def _taken(self, block: Block) -> Block | None:
        """A block of another agent as services take it; none if nothing of it can be said here."""
        if isinstance(block, Tool):
            for part in (block.output or ()) if block.is_error else ():
                if isinstance(part, Media):
                    self.losses.add("image of a failed call", "a failed call gives back only words here")
            return taken(block, self.losses)
        if isinstance(block, Unknown):
            self._left_out(block)
            return None
        return None if isinstance(block, Text) and not block.text.strip() else block

    def _left_out(self, block: Block) -> None:
        if not (self.own and isinstance(block, Event) and block.kind in _REWRITTEN):
            self.losses.add_block(block)

    def _id(self, own: str | None, kind: str) -> str:
        """An id again; in a fork another, because the client takes no message under an id that it has."""
        if not own or not self.own:
            return self._mint(kind)
        return renamed(own, self.session) if self.fork else own

    def _mint(self, kind: str) -> str:
        """An id made from the session and the place, so that writing twice gives the same file; ids sort by age."""
        self.minted += 1
        return f"{kind}_{self.minted:012x}{hashlib.sha256(self.session.encode()).hexdigest()[:14]}"


def _stands_alone(block: Block) -> bool:
    """Whether a block is no part of the message that it is found in."""
    return (isinstance(block, Event) and block.kind == INJECTED) or flat.is_aside(block) or _is_around(block)


def _is_around(block: Block) -> TypeGuard[Unknown]:
    """What stands before or behind the messages; a part of such a kind says so itself."""
    if not isinstance(block, Unknown) or block.kind not in ("head", "tail"):
        return False
    return mapping(block.value).get("type") != block.kind


def _sums_up(message: Message) -> bool:
    return mapping(mapping(message.raw).get("info")).get("summary") is True


def _is_empty(block: Block) -> bool:
    return isinstance(block, Event) and block.kind in ("empty message", "error")
