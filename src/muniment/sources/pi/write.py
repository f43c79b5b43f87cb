"""Rounds to a session that pi resumes, always of version 3.

Sessions of pi get their own entries back: ids, parents, times, signatures, usage; those of version 1 get ids as the
client would give them. Sessions of other agents become one straight chain. The last entry is where pi goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, structs

from muniment.model import Compaction, Event, Facts, Loss, Message, Ref, Round, Tool, Unknown, codec
from muniment.model.codec import mapping
from muniment.sources.base import MediaBytes, Move, made_id
from muniment.sources.foreign import other_media, taken
from muniment.sources.losses import NO_PLACE, Losses
from muniment.sources.pi import compose, events, foreign
from muniment.sources.pi.find import NAME
from muniment.sources.pi.place import EPOCH, identity
from muniment.sources.pi.records import QUEUED, rest

VERSION = 3
_OLD_INDEX = "firstKeptEntryIndex"
_FIRST_KEPT = "firstKeptEntryId"


class Entry(Struct):
    """One line to be written, without what makes it part of the tree."""

    ref: Ref
    body: dict[str, Any]


def write(rounds: Iterable[Round], facts: Facts, move: Move, media: MediaBytes, losses: list[Loss]) -> Iterator[bytes]:
    """The lines of a resumable file."""
    writer = Writer(facts, move, media)
    begun = False
    for round_ in rounds:
        if not begun:
            yield writer.head(round_)
            begun = True
        yield from writer.round(round_)
    if not begun:
        yield writer.head(Round(1))
    yield from writer.end()
    losses.extend(writer.losses.all())


class Writer:
    """What has been written so far, as far as the next line needs it."""

    def __init__(self, facts: Facts, move: Move, media: MediaBytes) -> None:
        self.facts, self.move, self.media = facts, move, media
        self.own = facts.source == NAME and not facts.prompts_only
        self.native = False
        """Whether the entries of the round come from a file of pi and can be given back as they were."""
        self.session = identity(facts, move)
        self.losses = Losses()
        self.at = facts.started or EPOCH
        self.last: str | None = None
        self.written: dict[str, None] = {}
        self.minted = 0
        self.titled = False
        self.called: dict[str, str] = {}
        """The tools of the calls so far, by the ids of the calls."""
        self.waits = False
        """Words behind an answer that stopped for its tools, or behind such words, would be taken for steering."""

    # -- the header

    def head(self, first: Round) -> bytes:
        """The line without which the client throws the file away."""
        said = next((b.detail for b in first.blocks() if isinstance(b, Event) and b.kind == "header"), None)
        kept = mapping(said) if self.own else {}
        former = kept.get("parentSession") or kept.get("branchedFrom")
        header = {"type": "session", "version": VERSION, "id": self.session}
        header["timestamp"] = kept.get("timestamp") or self.at
        header["cwd"] = self.move.cwd or self.facts.first_cwd or self.facts.cwd or kept.get("cwd") or "/"
        header |= rest(kept, "version", "id", "timestamp", "cwd", "branchedFrom", "parentSession")
        return codec.encode(header | ({"parentSession": former} if former else {})) + b"\n"

    def end(self) -> Iterator[bytes]:
        """The name that somebody gave a session of another agent."""
        if self.facts.title and self.facts.title_by in ("user", "ai") and not self.titled and self.written:
            yield self._line(Entry(Ref(at=self.at), {"type": "session_info", "name": self.facts.title}))
        if self.facts.branch:
            self.losses.add("git branch", NO_PLACE)

    # -- rounds

    def round(self, round_: Round) -> Iterator[bytes]:
        """The lines of one round."""
        self.losses.where = f"round {round_.number}"
        self.native = self.own and any(block.ref.length for block in round_.blocks())
        if self.native:
            entries = self._again(round_)
            entries.sort(key=lambda entry: entry.ref.offset)
        else:
            entries = [entry for message in round_.messages for entry in self._told(message)]
        for entry in entries:
            yield self._line(entry)

    def _line(self, entry: Entry) -> bytes:
        """An entry with its place in the tree; one whose parent is left out follows the entry before it."""
        ref, body = entry.ref, entry.body
        known = self.native and ref.id is not None and (ref.parent is None or ref.parent in self.written)
        parent = ref.parent if known else self.last
        id_ = ref.id if self.native and ref.id else self._mint()
        self.at = ref.at or self.at
        if body["type"] == "compaction":
            body = self._kept(body, id_)
        self.titled = self.titled or body["type"] == "session_info"
        self.last = id_
        self.written[id_] = None
        timed = {} if self.native and ref.at is None else {"timestamp": self.at}
        made = {"type": body["type"], "id": id_, "parentId": parent, **timed}
        return codec.encode(made | rest(body, "type")) + b"\n"

    def _mint(self) -> str:
        """An id made from the session and the place, so that writing twice gives the same file."""
        while True:
            self.minted += 1
            made = made_id(f"{self.facts.session_id} entry {self.minted}").hex[:8]
            if made not in self.written:
                return made

    def _kept(self, body: dict[str, Any], id_: str) -> dict[str, Any]:
        """What a compaction keeps: version 1 tells the number of the first entry, other agents nothing."""
        index = body.get(_OLD_INDEX)
        if isinstance(index, int):
            order = list(self.written)
            first = order[index - 1] if 0 < index <= len(order) else id_
            body = rest(body, _OLD_INDEX) | {_FIRST_KEPT: first}
        return {_FIRST_KEPT: id_, "tokensBefore": 0} | body

    # -- a session of pi

    def _again(self, round_: Round) -> list[Entry]:
        """Every entry of a round as it was."""
        made: list[Entry] = []
        details = {b.ref.offset: b.detail for b in round_.blocks() if isinstance(b, Event) and b.kind == events.DETAILS}
        for message in round_.messages:
            if (ref := compose.place_of(message)) is not None:
                made.append(Entry(ref, compose.message(message, ref, self.media)))
            for block in message.blocks:
                made += self._beside(block, message, details)
        return made

    def _beside(self, block: Any, message: Message, details: dict[int, Any]) -> Iterator[Entry]:
        """The entries behind a message: results of its calls, and what happened around it."""
        if isinstance(block, Tool):
            tool = self._named(block)
            is_command = compose.is_command(message) and block.name is not None
            if tool.output is not None and not is_command:
                ref = tool.result or tool.ref
                yield Entry(ref, compose.result(tool, ref, self.media, mapping(details.get(ref.offset))))
        elif isinstance(block, Event | Compaction):
            if body := events.again(block):
                yield Entry(block.ref, body)
        elif isinstance(block, Unknown) and block.damage:
            self.losses.add_block(block)

    def _named(self, tool: Tool) -> Tool:
        """With the name of its call, which may stand in an earlier round than its result."""
        if tool.name is None:
            return structs.replace(tool, name=self.called.get(tool.id))
        self.called[tool.id] = tool.name
        return tool

    # -- a session of another agent

    def _told(self, message: Message) -> Iterator[Entry]:
        """The entries that say what a message says."""
        if message.sidechain:
            self.losses.add_subagent()
            return
        self.at = message.at or self.at
        if message.cwd and message.cwd != (self.facts.first_cwd or self.facts.cwd):
            self.losses.add("change of the working folder", "a session has one folder here")
        for block in message.blocks:
            if isinstance(block, Compaction):
                yield Entry(Ref(at=self.at), {"type": "compaction", "summary": block.text})
            else:
                foreign.account(block, self.losses)
        kept = (block for block in message.blocks if not other_media(block))
        blocks = tuple(taken(b, self.losses, only_images=True) if isinstance(b, Tool) else b for b in kept)
        yield from self._spoken(structs.replace(message, blocks=blocks))

    def _spoken(self, message: Message) -> Iterator[Entry]:
        if message.role == "user":
            if body := foreign.asked(message, self.at, self.media):
                mark = {QUEUED: message.queued} if message.queued or self.waits else {}
                yield Entry(Ref(at=self.at), {"type": "message"} | mark | {"message": body})
                self.waits = message.queued
            yield from self._results(message)
            return
        body = foreign.answered(message, self.at, self.media, self.losses)
        if body:
            self.waits = body["stopReason"] == "toolUse"
            yield Entry(Ref(at=self.at), {"type": "message", "message": body})
        yield from self._results(message)

    def _results(self, message: Message) -> Iterator[Entry]:
        """What came back of the calls of a message."""
        for tool in (self._named(block) for block in message.blocks if isinstance(block, Tool)):
            if tool.output is not None:
                at = (tool.result.at if tool.result else None) or self.at
                yield Entry(Ref(at=at), compose.result(tool, Ref(at=at), self.media, {}))
