"""Rounds of any source told again as events, for a dialect to write.

Ids are made from the session id and the place in the telling, so the same session gives the same lines each time. Every
message becomes one group of events, the results of its calls follow it. What no event can say is counted as lost.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Protocol

from msgspec import structs

from muniment.model import Block, Compaction, Facts, Media, Message, Round, Text, Thinking, Tool, Usage
from muniment.model import Event as Happening
from muniment.model import events as types
from muniment.model.events import Event
from muniment.sources.base import MediaBytes, made_id
from muniment.sources.builder import count
from muniment.sources.losses import NO_PLACE, Losses

NO_TIME = "1970-01-01T00:00:00.000Z"


class Target(Protocol):
    """What a teller must know of the format it tells for."""

    id_length: int
    """Hexadecimal digits of an event's id."""
    rich: bool
    """Whether the format holds whatever an event says: signatures, subagents, titles."""


class Teller:
    """Tells one session; what it must know from one message to the next."""

    def __init__(self, facts: Facts, session_id: str, form: Target, media: MediaBytes, losses: Losses) -> None:
        self.session_id = session_id
        self.form = form
        self.media = media
        self.losses = losses
        self.at = facts.started or NO_TIME
        self.last: str | None = None
        self.count = 0
        self.ids: set[str] = set()

    def header(self, payload: dict[str, Any]) -> Event:
        """The first event; what follows does not hang on it."""
        event = self._event(types.HEADER, payload)
        self.last = None
        return event

    def title(self, facts: Facts) -> list[Event]:
        """A title that somebody gave."""
        if not self.form.rich or facts.title_by not in ("user", "ai"):
            return []
        return [self._event("title", {"title": facts.title, "by": facts.title_by})]

    def round(self, round_: Round) -> Iterator[list[Event]]:
        """The groups of events of one round."""
        self.losses.where = f"round {round_.number}"
        for message in round_.messages:
            if message.sidechain:
                self.losses.add_subagent()
                continue
            self.at = message.at or self.at
            yield from self._message(message)

    def _message(self, message: Message) -> Iterator[list[Event]]:
        """What waited for the message stands before it; results and the ends of subagents behind it."""
        spoken = [block for block in message.blocks if _is_spoken(block)]
        for block in message.blocks:
            if isinstance(block, Compaction):
                yield self._compacted(block)
            elif not _is_spoken(block):
                self._lost(block)
        group = self._user(message, spoken) if message.role == "user" else self._agent(message, spoken)
        if group:
            yield group
        for tool in spoken:
            if isinstance(tool, Tool):
                yield from self._answered(tool)

    def _compacted(self, block: Compaction) -> list[Event]:
        """The cut keeps nothing of what came before it: what was kept, other formats do not say."""
        summary = self._event(types.SUMMARY, {"text": block.text})
        said = {"headUuid": None, "anchorUuid": None, "tailUuid": None, "summary_event_uuid": summary.uuid}
        return [summary, self._event(types.COMPACTION, said | {"first_kept": None, "tokens_before": 0})]

    # -- who speaks

    def _user(self, message: Message, blocks: list[Block]) -> list[Event]:
        parts = [part for block in blocks if (part := self._part(block))]
        if not parts:
            return []
        return [self._event(types.USER, _content(parts) | ({"queued": True} if message.queued else {}))]

    def _agent(self, message: Message, blocks: list[Block]) -> list[Event]:
        made = [event for block in blocks if (event := self._spoken(block))]
        if not made:
            return []
        about: dict[str, Any] = {"model": message.model} if message.model else {}
        about |= {"usage": as_told(message.usage)} if message.usage else {}
        named = {"message": made[0].uuid}
        first, *rest = made
        first = structs.replace(first, payload=first.payload | about | named)
        return [first, *(structs.replace(event, payload=event.payload | named) for event in rest)]

    def _spoken(self, block: Block) -> Event | None:
        if isinstance(block, Thinking):
            return self._event(types.THINKING, self._thought(block))
        if isinstance(block, Tool):
            if block.name is None:
                return None
            said = {"id": block.id, "name": block.name, "input": block.input}
            return self._event(types.TOOL_CALL, said)
        part = self._part(block)
        return self._event(types.ASSISTANT, _content([part])) if part else None

    def _thought(self, block: Thinking) -> dict[str, Any]:
        said: dict[str, Any] = {"text": block.text} | ({"redacted": True} if block.redacted else {})
        if block.signature and not self.form.rich:
            self.losses.add_signature(block)
        return said | ({"signature": block.signature} if block.signature and self.form.rich else {})

    def _part(self, block: Block) -> dict[str, Any] | None:
        if isinstance(block, Text):
            return {"type": "text", "text": block.text}
        if isinstance(block, Media):
            data = base64.b64encode(self.media(block.name)).decode("ascii")
            return {"type": "image", "mime_type": block.media_type, "data": data}
        return None

    def _answered(self, tool: Tool) -> Iterator[list[Event]]:
        if tool.sidechain and not self.form.rich:
            self.losses.add("link to a subagent", NO_PLACE)
        elif tool.sidechain:
            yield [self._event(types.SIDECHAIN, {"task_id": tool.sidechain, "call": tool.id})]
        if tool.output is not None:
            self.at = (tool.result.at if tool.result else None) or self.at
            said = {"id": tool.id, "name": tool.name, "output": self._output(tool), "is_error": tool.is_error}
            yield [self._event(types.TOOL_RESULT, said)]

    def _output(self, tool: Tool) -> Any:
        """What came back; nothing at all is an empty text, which every format can tell from no answer."""
        given = tool.output or ()
        if len(given) <= 1 and all(isinstance(block, Text) for block in given):
            return "".join(block.text for block in given if isinstance(block, Text))
        return [self._part(block) or {"type": "value", "value": getattr(block, "value", None)} for block in given]

    # -- what is left out

    def _lost(self, block: Block) -> None:
        if isinstance(block, Happening) and block.kind == types.RESTRICTION:
            self.losses.add("restriction", "this format cannot forbid anything")
        else:
            self.losses.add_block(block)

    # -- events

    def _event(self, type_: str, payload: dict[str, Any]) -> Event:
        event = Event(type_, self.at, self._new_id(), self.last, payload)
        self.last = event.uuid
        return event

    def _new_id(self) -> str:
        """An id that no other event has, short as it may be."""
        while True:
            self.count += 1
            own = made_id(f"{self.session_id} event {self.count}").hex[: self.form.id_length]
            if own not in self.ids:
                self.ids.add(own)
                return own


def _is_spoken(block: Block) -> bool:
    return isinstance(block, (Text, Thinking, Tool, Media))


def _content(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The short form for a single text, as a recorder has it."""
    plain = len(parts) == 1 and parts[0]["type"] == "text"
    return {"text": parts[0]["text"]} if plain else {"content": parts}


def as_told(usage: Usage) -> dict[str, int]:
    """Tokens as a recorder tells them: what was cached stands beside the input."""
    names = ("input", "output", "cache_read", "cache_write")
    return {name: getattr(usage, name) for name in names}


def told_usage(payload: dict[str, Any]) -> Usage | None:
    """The tokens that an answer tells, in a recorder's convention."""
    said = payload.get("usage")
    if not isinstance(said, dict):
        return None
    return Usage(**{name: count(said, name) for name in ("input", "output", "cache_read", "cache_write")})  # pyright: ignore[reportUnknownArgumentType]
