"""Rounds to a Claude Code file that the real client resumes.

Sessions of Claude Code get their own records back: ids, parents, times, signatures, usage. Sessions of other
agents, and documents without their rounds, get ids made from the session id and the place of the record, in
one straight chain; what has no record of its own stands there as words with a warning. Grants of permission are
never written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import structs

from muniment.model import Block, Compaction, Event, Facts, Loss, Message, Ref, Round, Text, Thinking, Tool, Unknown
from muniment.model.blocks import is_quiet
from muniment.model.codec import encode, mapping
from muniment.model.words import shortened
from muniment.sources.base import MediaBytes, Move, made_id
from muniment.sources.claude import events, parts
from muniment.sources.claude.lines import Item, Lines
from muniment.sources.foreign import taken
from muniment.sources.losses import Losses

MAX_WORDS = 4000
"""Of a part that only its own agent knows: it may hold a file."""
_SPOKEN = ("user", "assistant", "attachment")


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
        self.waiting: list[Item] = []
        """What stands before the first thing that was said: notes alone are no session that the client resumes."""
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
        if not self.native and not self.lines.written and not any(item.role in _SPOKEN for item in items):
            self.waiting += items
            return
        items, self.waiting = [*self.waiting, *items], []
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
        notes: list[Item] = []
        shared = None if self.native or message.role == "assistant" else self._mint(Ref(at=message.at))
        self.answer_id = message.id if self.native else self._answer_id(message)
        for block in message.blocks:
            match block:
                case Tool():
                    tool = block if self.own else taken(block, self.losses)
                    result = self._result(tool, message) if tool.output is not None else None
                    if tool.name is not None:
                        yield self._item(
                            tool.ref, "assistant", parts.call(tool, self._call_fields(tool, message)), message
                        )
                    if result and result.role == "assistant" and result.ref.offset == tool.ref.offset:
                        yield result  # one record had both: what follows them in it stands behind them
                    elif result:
                        answers.append(result)
                case Compaction():
                    yield from self._compaction(block, message)
                case Event() if block.text and not self.own and not events.why_left_out(block.kind):
                    notes.append(self._note(f"event: {block.kind}", block.text, block.ref, message))
                case Event():
                    yield from self._event(block, message)
                case Thinking():
                    yield from self._thinking(block, message)
                case Unknown() if block.damage:
                    self.losses.add_block(block)
                case Unknown() if not self.own and _is_all_said(block, message):
                    yield self._said(block, message)
                case Unknown() if not self.own:
                    notes.append(self._note(f"part: {block.kind}", _as_words(block), block.ref, message))
                case _:
                    yield self._part(block, message, shared)
        yield from answers
        yield from notes  # behind it all: nothing may stand between the parts of a message, or a call and its result

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
        """One id per answer, the same on all its parts: its own, if a document of Claude Code names it."""
        if self.own and message.id:
            return message.id
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

    def _call_fields(self, tool: Tool, message: Message) -> dict[str, Any]:
        """What a call of a service's tool said beside the usual; the model knows such tools by it."""
        return mapping(mapping(mapping(message.raw).get("parts")).get(tool.id)) if self.native else {}

    def _result(self, tool: Tool, message: Message) -> Item:
        if self.native and tool.result and (part := parts.server_result(tool)):
            return self._item(tool.result, "assistant", part, message)
        flags = {"toolUseResult": {"agentId": tool.sidechain}} if tool.sidechain else {}
        part = parts.result(tool, self.media)
        return self._item(tool.result or Ref(at=message.at), "user", part, message, flags)

    # -- what happened around it

    def _event(self, event: Event, message: Message) -> Iterator[Item]:
        """An event's own record; in a session of another agent it has none."""
        if event.kind == events.PUT_IN:
            return  # what it is about has the record
        record = events.again(event) if self.native or (self.own and event.text) else None
        if record is None:
            self.lines.drop(event.ref)
        if record is None or event.kind in events.GRANTS:
            self._left_out(event)
        if record:
            spoken = message if record.role in ("user", "assistant", "attachment") else None
            ref = event.ref if self.native else self._mint(Ref(at=message.at))
            yield Item(ref, record.role, record.part, spoken, record.flags | {"answer": self.answer_id})

    def _compaction(self, block: Compaction, message: Message) -> Iterator[Item]:
        """A summary; before it stands the boundary, which sessions that were not Claude's lack."""
        if not self.native:
            yield Item(structs.replace(self._mint(Ref()), parent=None), "system", events.new_boundary())
        marks = {} if self.native and block.detail == events.UNMARKED else events.SUMMARY
        flags = {"plain": block.ref.plain or not self.native, **marks}
        yield self._item(block.ref, "user", {"type": "text", "text": block.text}, message, flags)

    # -- what there is no record for

    def _note(self, what: str, words: str, ref: Ref, message: Message) -> Item:
        """A record that the client shows and does not send to the model."""
        self.losses.annotate(what, "it stands there as a note of the system, which the model does not get")
        return Item(self._mint(ref), "system", events.new_note(_warned(what, words)), message)

    def _said(self, block: Unknown, message: Message) -> Item:
        """A prompt of a form that only its own agent knows: what it holds is the prompt."""
        what = f"part: {block.kind}"
        self.losses.annotate(what, "it stands there as words of the user")
        return self._part(Text(_warned(what, _as_words(block)), ref=block.ref), message, None)

    def _left_out(self, event: Event) -> None:
        if why := events.why_left_out(event.kind):
            self.losses.add(f"event: {event.kind}", why)
        else:
            self.losses.add_block(event)


def _is_all_said(block: Unknown, message: Message) -> bool:
    """Whether nothing else stands in a message of the user, so that without it there would be none."""
    return message.role == "user" and all(other is block or is_quiet(other) for other in message.blocks)


def _as_words(block: Unknown) -> str:
    return shortened(encode(block.value).decode(), MAX_WORDS)


def _warned(what: str, words: str) -> str:
    return f"[Warning: Claude Code has no place for this {what}] {words}"


def _is_result(part: Any) -> bool:
    return parts.type_of(part) == "tool_result"
