"""Rounds to a Claude Code file that the real client resumes.

Sessions of Claude Code get their own records back: ids, parents, times, signatures, usage. Sessions of other
agents, and documents without their rounds, get ids made from the session id and the place of the record, in
one straight chain. Grants of permission are never written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import structs

from muniment.model import Block, Compaction, Event, Facts, Loss, Message, Ref, Round, Thinking, Tool, Unknown
from muniment.model.codec import mapping
from muniment.sources.base import MediaBytes, Move, made_id
from muniment.sources.claude import events, parts
from muniment.sources.claude.lines import Item, Lines
from muniment.sources.foreign import taken
from muniment.sources.losses import Losses


def write(rounds: Iterable[Round], facts: Facts, move: Move, media: MediaBytes, losses: list[Loss]) -> Iterator[bytes]:
    """The lines of a resumable file."""
    writer = Writer(facts, move, media)
    for round_ in rounds:
        yield from writer.round(round_)
    yield from writer.lines.end()
    losses += writer.losses.all()


class Writer:
    """Rounds to items, and what must be known from one round to the next."""

    def __init__(self, facts: Facts, move: Move, media: MediaBytes) -> None:
        self.own = facts.source == "claude-code" and not facts.prompts_only
        self.native = False
        """Whether the records of the round come from a Claude Code file and can be given back as they were."""
        self.old_id = facts.native_id or facts.session_id
        self.media = media
        self.lines = Lines(facts, move)
        self.losses = Losses()
        self.minted = 0
        self.answer_id: str | None = None
        self.results: set[int] = set()
        """Where tool results of the round stand: what is beside one belongs to its record."""
        self.put_in: dict[int, dict[str, Any]] = {}
        """Where the round has images or files that the program put in, and how their records are marked."""

    def round(self, round_: Round) -> Iterator[bytes]:
        """The lines of one round."""
        self.losses.where = f"round {round_.number}"
        items: list[Item] = []
        blocks = round_.blocks()
        self.native = self.own and any(block.ref.length for block in blocks)
        self.results = {block.result.offset for block in blocks if isinstance(block, Tool) and block.result}
        put_in = (block for block in blocks if isinstance(block, Event) and block.kind == events.PUT_IN)
        self.put_in = {event.ref.offset: mapping(event.detail) for event in put_in}
        for message in round_.messages:
            if message.role == "assistant" or not message.queued:
                self._settings(message, items)
            made = list(self._items(message))
            if message.usage and not made:
                self.losses.add("tokens of an answer without content", "they are counted with what is said")
            items += made
        if self.native:
            items.sort(key=lambda item: (item.ref.offset, item.role == "user" and not _is_result(item.part)))
        yield from self.lines.of(items, self.native)

    def _settings(self, message: Message, items: list[Item]) -> None:
        """Folder, branch and version hold from the message on that names them."""
        if message.cwd or message.branch or message.client:
            changed = {"cwd": message.cwd, "branch": message.branch, "client": message.client}
            offset = min((b.ref.offset for b in message.blocks if b.ref.length), default=0)
            items.append(Item(Ref(offset=offset), "settings", changed))

    def _items(self, message: Message) -> Iterator[Item]:
        """What a message is made of; the results of its calls follow it."""
        answers: list[Item] = []
        shared = None if self.native or message.role == "assistant" else self._mint(Ref(at=message.at))
        self.answer_id = message.id if self.native else self._answer_id(message)
        for block in message.blocks:
            match block:
                case Tool():
                    tool = block if self.own else taken(block, self.losses)
                    if tool.name is not None:
                        yield self._item(tool.ref, "assistant", parts.call(tool), message)
                    if tool.output is not None:
                        answers.append(self._result(tool, message))
                case Compaction():
                    yield from self._compaction(block, message)
                case Event():
                    yield from self._event(block, message)
                case Thinking():
                    yield from self._thinking(block, message)
                case Unknown() if block.damage or not self.own:
                    self.losses.add_block(block)
                case _:
                    yield self._part(block, message, shared)
        yield from answers

    # -- ids

    def _item(self, ref: Ref, role: str, part: Any, message: Message, flags: dict[str, Any] | None = None) -> Item:
        return Item(self._ref(ref), role, part, message, (flags or {}) | {"answer": self.answer_id})

    def _ref(self, ref: Ref) -> Ref:
        """The record's own place, or a new one where it has none."""
        return ref if self.native and ref.id else self._mint(ref)

    def _mint(self, ref: Ref) -> Ref:
        """An id made from the session and the place, so that writing twice gives the same file."""
        self.minted += 1
        made = str(made_id(f"{self.old_id}:{ref.offset}:{self.minted}"))
        parent = ref.parent or "" if self.native else ""  # another agent's ids are not written
        return Ref(offset=ref.offset, length=ref.length, id=made, parent=parent, at=ref.at, plain=ref.plain)

    def _answer_id(self, message: Message) -> str:
        """One id per answer, the same on all its parts."""
        self.minted += 1
        return "msg_" + made_id(f"{self.old_id}:{message.id or self.minted}").hex

    # -- what was said

    def _part(self, block: Block, message: Message, shared: Ref | None) -> Item:
        """Words; those that arrived while the agent worked stand in an attachment, unless they came with a result."""
        place = block.ref.offset
        users = self.native and (place in self.results or place in self.put_in)
        role = "user" if users else "attachment" if message.queued else message.role
        flags = {"plain": block.ref.plain, **(self.put_in.get(place, {}) if users else {})}
        item = self._item(block.ref, role, parts.written(block, self.media), message, flags)
        if shared:
            item.ref = shared
        return item

    def _thinking(self, block: Thinking, message: Message) -> Iterator[Item]:
        if self.native:
            yield self._item(block.ref, "assistant", parts.thought(block), message)
            return
        self.lines.drop(block.ref)
        self.losses.add_thinking(block)

    def _result(self, tool: Tool, message: Message) -> Item:
        flags = {"toolUseResult": {"agentId": tool.sidechain}} if tool.sidechain else {}
        part = parts.result(tool, self.media)
        return self._item(tool.result or Ref(at=message.at), "user", part, message, flags)

    # -- what happened around it

    def _event(self, event: Event, message: Message) -> Iterator[Item]:
        """An event's own record; in a session of another agent it has none."""
        if event.kind == events.PUT_IN:
            return  # what it is about has the record
        record = events.again(event) if self.native else None
        if record is None:
            self.lines.drop(event.ref)
        if record is None or event.kind in events.GRANTS:
            self._left_out(event)
        if record:
            spoken = message if record.role in ("user", "assistant", "attachment") else None
            yield Item(event.ref, record.role, record.part, spoken, record.flags | {"answer": self.answer_id})

    def _compaction(self, block: Compaction, message: Message) -> Iterator[Item]:
        """A summary; before it stands the boundary, which sessions that were not Claude's lack."""
        if not self.native:
            yield Item(structs.replace(self._mint(Ref()), parent=None), "system", events.new_boundary())
        marks = {} if self.native and block.detail == events.UNMARKED else events.SUMMARY
        flags = {"plain": block.ref.plain or not self.native, **marks}
        yield self._item(block.ref, "user", {"type": "text", "text": block.text}, message, flags)

    def _left_out(self, event: Event) -> None:
        if why := events.why_left_out(event.kind):
            self.losses.add(f"event: {event.kind}", why)
        else:
            self.losses.add_block(event)


def _is_result(part: Any) -> bool:
    return parts.type_of(part) == "tool_result"
