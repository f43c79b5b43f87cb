"""Rounds of any source as a trajectory, one step per message and observations with the calls they belong to.

Trajectories get their own steps back. Those of other agents are told in version 1.7; nothing resumes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from muniment.model import Block, Compaction, Event, Facts, Loss, Media, Message, Round, Thinking, Tool, Unknown, codec
from muniment.model.codec import mapping
from muniment.sources.atif import compose
from muniment.sources.atif.find import NAME
from muniment.sources.atif.rounds import HEAD, SUBAGENT, SYSTEM, TAIL
from muniment.sources.base import MediaBytes, Move
from muniment.sources.foreign import taken
from muniment.sources.losses import NO_PLACE, Losses

VERSION = "ATIF-v1.7"

_REWRITTEN = frozenset({HEAD, TAIL, SUBAGENT, SYSTEM, "empty message", "observation"})


def write(rounds: Iterable[Round], facts: Facts, move: Move, media: MediaBytes, losses: list[Loss]) -> Iterator[bytes]:
    """The lines of the document."""
    writer = Writer(facts, move)
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


class Writer:
    """What has been written so far, as far as the next step needs it."""

    def __init__(self, facts: Facts, move: Move) -> None:
        self.facts, self.move = facts, move
        self.own = facts.source == NAME and not facts.prompts_only
        self.session = move.session_id or (self.own and facts.native_id) or facts.session_id
        self.losses = Losses(_REWRITTEN)
        self.count = 0
        self.last: dict[str, Any] = {}
        self.subagents: list[Any] = []

    # -- around the steps

    def head(self, first: Round) -> bytes:
        """What is said of the session as a whole, up to the list of its steps."""
        own = self._own_head(first) if self.own else None
        fields = self._told() if own is None else own
        if self.own and self.move.session_id:
            fields = {name: value for name, value in fields.items() if name != "trajectory_id"}
            fields |= {"session_id": self.move.session_id}
        if self.own and self.move.cwd:
            fields = fields | {"extra": mapping(fields.get("extra")) | {"cwd": self.move.cwd}}
        return codec.encode(fields)[:-1] + (b',"steps":[\n' if fields else b'"steps":[\n')

    def _own_head(self, first: Round) -> dict[str, Any] | None:
        """What a trajectory said of itself; only its first round has it, and no document."""
        heads = (mapping(b.detail) for b in first.blocks() if isinstance(b, Event) and b.kind == HEAD)
        return next(heads, None)

    def _told(self) -> dict[str, Any]:
        facts = self.facts
        agent = {"name": facts.source, "version": facts.client or "unknown"}
        agent |= {"model_name": facts.model} if facts.model else {}
        extra = {"cwd": self.move.cwd or facts.first_cwd or facts.cwd, "branch": facts.branch, "title": facts.title}
        extra |= {"title_by": facts.title_by} if facts.title else {}
        kept = {name: value for name, value in extra.items() if value}
        session = {"schema_version": VERSION, "session_id": self.session, "agent": agent}
        return session | ({"extra": kept} if kept else {})

    def tail(self) -> bytes:
        """What is said behind the steps, and the end."""
        if not self.own:
            self.last = {"final_metrics": {"total_steps": self.count}}
        if self.subagents:
            self.last = {"subagent_trajectories": self.subagents} | self.last
        return b"]}\n" if not self.last else b"]," + codec.encode(self.last)[1:] + b"\n"

    # -- steps

    def round(self, round_: Round) -> Iterator[bytes]:
        """The steps of one round."""
        self.losses.where = f"round {round_.number}"
        for message in round_.messages:
            for block in message.blocks:
                self._remember(block)
            if not message.sidechain:
                yield from self._message(message)
                if message is round_.prompt and not self._makes_step(message):
                    # A round begins at a step of the user: without one, the answer would join the round before.
                    yield self._line(compose.step(message, ()))
            elif not self.own:
                self.losses.add_subagent()

    def _message(self, message: Message) -> Iterator[bytes]:
        """A message as one step, with what the environment did before and behind it."""
        spoken: list[Block] = []
        after: list[dict[str, Any]] = []
        for block in message.blocks:
            step = self._system(block)
            if step and self.own and any(map(_is_spoken, spoken)):
                after.append(step)
            elif step:
                yield from self._flush(message, spoken)
                spoken = []
                yield self._line(step)
            else:
                if not self.own and isinstance(block, Thinking) and any(map(_is_spoken, spoken)):
                    yield from self._flush(message, spoken)
                    spoken = []
                spoken.append(block)
        yield from self._flush(message, spoken)
        yield from map(self._line, after)

    def _makes_step(self, message: Message) -> bool:
        """Return whether any block of a message is written in a step of its speaker."""
        left_out = Compaction if self.own else (Compaction, Unknown)
        return any(_is_spoken(block) for block in message.blocks if not isinstance(block, left_out))

    def _remember(self, block: Block) -> None:
        """What is told behind the steps."""
        if self.own and isinstance(block, Event) and block.kind == TAIL:
            self.last = mapping(block.detail)
        elif self.own and isinstance(block, Event) and block.kind == SUBAGENT:
            self.subagents.append(block.detail)

    def _system(self, block: Block) -> dict[str, Any] | None:
        """A step of the environment, if a block is one."""
        if self.own and isinstance(block, Event) and block.kind == SYSTEM:
            return {"message": block.text} | mapping(block.detail)
        if not isinstance(block, Compaction):
            return None
        extra = {"context_management": {"type": "compaction"}}
        told: dict[str, Any] = {"source": "system", "message": block.text, "extra": extra}
        return told | (mapping(block.detail) if self.own else {})

    def _flush(self, message: Message, blocks: list[Block]) -> Iterator[bytes]:
        for block in blocks:
            self._left_out(block, message.role)
        spoken = blocks if self.own else [made for block in blocks if (made := self._taken(block))]
        if not any(map(_is_spoken, spoken)):
            return
        step = compose.step(message, spoken)
        if self.own:
            step |= mapping(message.raw)
        elif message.queued:
            step["extra"] = {"muniment": {"queued": True}}
        own = next((block.ref.id for block in spoken if block.ref.id), None) if self.own else None
        yield self._line(step | ({"step_id": int(own)} if own and own.isdecimal() else {}))

    def _taken(self, block: Block) -> Block | None:
        """A block of another agent as any reader of trajectories takes it."""
        if isinstance(block, Unknown):
            return None
        return taken(block, self.losses) if isinstance(block, Tool) else block

    def _line(self, step: dict[str, Any]) -> bytes:
        self.count += 1
        numbered = {"step_id": self.count} | step
        return (b"," if self.count > 1 else b"") + codec.encode(numbered) + b"\n"

    def _left_out(self, block: Block, role: str) -> None:
        """Account for what a step does not hold."""
        if isinstance(block, Thinking) and block.text:
            if block.signature:
                self.losses.add_signature(block)
        elif isinstance(block, Tool):
            for part in block.output or ():
                if isinstance(part, Media):
                    self.losses.add("image in what a tool gave back", NO_PLACE)
            if block.name is None and role == "user":
                self.losses.add_result()
            if block.sidechain and not self.own:
                self.losses.add("link to a subagent", NO_PLACE)
        elif isinstance(block, Thinking | Media) or self._is_lost(block):
            self.losses.add_block(block)

    def _is_lost(self, block: Block) -> bool:
        if isinstance(block, Unknown):
            return not self.own
        return isinstance(block, Event) and block.kind not in _REWRITTEN


def _is_spoken(block: Block) -> bool:
    """Whether a block makes a step; a thought alone does only if its words are known."""
    if isinstance(block, Thinking):
        return bool(block.text)
    return block.kind in ("empty message", "observation") if isinstance(block, Event) else not isinstance(block, Media)
