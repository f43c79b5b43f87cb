"""Messages to the lines of one turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from muniment.model import Block, Compaction, Event, Media, Message, Text, Thinking, Tool, Unknown, Usage, codec
from muniment.sources.base import MediaBytes
from muniment.sources.codex import compose, events, items, prompts, tokens
from muniment.sources.foreign import other_media, taken
from muniment.sources.losses import Losses

_ENDING = frozenset({"turn aborted", *(events.named(kind) for kind in events.ENDED)})
"""Events that are the end of a turn."""
_TURNING = ("turn aborted", "thread rolled back")
"""Events that end a turn or come behind its end."""
_EMPTY = {kind: role for role, kind in items.EMPTY.items()}
_REPORTS = frozenset(events.named(kind) for kind in tokens.REPORTS)


class Speech:
    """A turn being written."""

    def __init__(self, session: str, own: bool, media: MediaBytes, losses: Losses, at: str) -> None:
        self.session, self.own, self.media, self.losses = session, own, media, losses
        self.at = at
        self.turn = ""
        self.open = False
        self.last_words: str | None = None
        self.title: str | None = None
        self.total = Usage()
        self.details: dict[str, Any] = {}
        """How closely pictures in outputs of this message were to be looked at, by the call."""
        self.outputs: list[bytes] = []
        """Of the response being written; they follow its token report."""

    def begin(self, turn: str, at: str | None) -> bytes:
        """The start of a turn."""
        self.turn, self.open, self.last_words = turn, True, None
        self.at = at or self.at
        return self._event("task_started", turn_id=turn, model_context_window=None)

    def end(self) -> Iterator[bytes]:
        """The end of the turn, unless it has come."""
        if self.open:
            self.open = False
            yield self._event("task_complete", turn_id=self.turn, last_agent_message=self.last_words)

    def at_time(self, at: str | None) -> None:
        """The time of a message; the client wants a string there and takes an empty one for no time."""
        self.at = at or ""

    def line(self, type_: str, payload: dict[str, Any]) -> bytes:
        """A record of now."""
        return compose.line(self.at, type_, payload)

    def _event(self, kind: str, **fields: Any) -> bytes:
        return self.line("event_msg", {"type": kind, **fields})

    # -- what a human said

    def asked(self, message: Message) -> Iterator[bytes]:
        """A human's message; what was put beside it keeps its side."""
        self.details = codec.mapping(codec.mapping(message.raw).get("outputs")) if self.own else {}
        first = next((n for n, block in enumerate(message.blocks) if self._is_part(block)), len(message.blocks))
        at = self.at
        for block in message.blocks[:first]:
            yield from self._aside(block)
        self.at = at
        spoken = [block for block in message.blocks[first:] if self._is_part(block)]
        details = codec.mapping(codec.mapping(message.raw).get("details")) if self.own else {}
        content = compose.parts(spoken, self.media, self.own, details)
        if not content and not self.own:
            content = [{"type": "input_text", "text": ""}]
        yield self.line("response_item", {"type": "message", "role": "user", "content": content})
        words = "\n".join(block.text for block in spoken if isinstance(block, Text))
        yield self._event("user_message", message=words, images=[], local_images=[], text_elements=[])
        for block in message.blocks[first:]:
            if not self._is_part(block):
                yield from self._aside(block)

    def _is_part(self, block: Block) -> TypeGuard[Text | Media | Unknown]:
        """Whether a block can be a part of a human's message."""
        if isinstance(block, Unknown):
            return self.own and not block.damage
        return isinstance(block, Text) or (isinstance(block, Media) and not other_media(block))

    # -- what the model answered

    def answered(self, message: Message) -> Iterator[bytes]:
        """A response: its items, its tokens, and what its calls gave back."""
        notes = codec.mapping(message.raw) if self.own else {}
        self.details = codec.mapping(notes.get("outputs"))
        phases, calls = codec.mapping(notes.get("phases")), codec.mapping(notes.get("calls"))
        spoken, reported = 0, all(isinstance(b, Event) and b.kind not in _EMPTY for b in message.blocks)
        if reported:  # no item tells its time, so it is told before events bring theirs
            yield from self._report(message)
        for block in message.blocks:
            if not isinstance(block, Event):
                self.at = block.ref.at or self.at
            if isinstance(block, Text):
                yield from self._said(block, phases.get(str(spoken)))
                spoken += 1
            elif isinstance(block, Thinking):
                yield from self._thought(block)
            elif isinstance(block, Tool):
                yield from self._called(self._taken(block), codec.mapping(calls.get(block.id)))
            else:
                if _ends(block) and not reported:
                    reported = True
                    yield from self._report(message)
                yield from self._aside(block)
        yield from self._given_back() if reported else self._report(message)

    def _said(self, block: Text, phase: str | None) -> Iterator[bytes]:
        self.last_words = block.text
        yield self._event("agent_message", message=block.text, **({"phase": phase} if phase in compose.PHASES else {}))
        yield self.line("response_item", compose.said(block, phase))

    def _thought(self, block: Thinking) -> Iterator[bytes]:
        """Another provider's reasoning proves nothing to this one, which would refuse the whole request."""
        if not self.own:
            self.losses.add_thinking(block)
            return
        if block.text:
            yield self._event("agent_reasoning", text=block.text)
        yield self.line("response_item", compose.thought(block))

    def _taken(self, tool: Tool) -> Tool:
        """A call of any agent; a tool may take free text here."""
        return tool if self.own else taken(tool, self.losses, (dict, str), only_images=True)

    def _called(self, tool: Tool, note: dict[str, Any]) -> Iterator[bytes]:
        if tool.name:
            yield self.line("response_item", compose.call(tool, note, self.media))
        if tool.output is not None and note.get("type") not in items.UNANSWERED:
            self._output(tool, note)
        if tool.sidechain and self.own:
            spawned = self._event("collab_agent_spawn_end", call_id=tool.id, new_thread_id=tool.sidechain)
            self.outputs.append(spawned)

    def _output(self, tool: Tool, note: dict[str, Any]) -> None:
        if tool.is_error:
            self.losses.add("the mark of a failed call", "outputs carry no such mark here")
        at = (tool.result.at if tool.result else None) or self.at
        details = codec.mapping(self.details.get(tool.id))
        payload = compose.output(tool, note, self.media, self.own, details)
        self.outputs.append(compose.line(at, "response_item", payload))

    def _report(self, message: Message) -> Iterator[bytes]:
        if message.usage:
            self.total += message.usage
            yield self._tokens(compose.counted(message, self.own), message.id)
        yield from self._given_back()

    def _tokens(self, last: dict[str, Any], response: str | None) -> bytes:
        info = {"total_token_usage": compose.in_convention(self.total), "last_token_usage": last}
        said: dict[str, Any] = {"info": info | {"model_context_window": None}, "rate_limits": None}
        # The client has no such field and skips it; with it the response keeps its name.
        return self._event("token_count", **said | ({"response_id": response} if response else {}))

    def _given_back(self) -> Iterator[bytes]:
        outputs, self.outputs = self.outputs, []
        yield from outputs

    # -- everything else

    def _aside(self, block: Block) -> Iterator[bytes]:
        """A block that is no part of what is said."""
        if isinstance(block, Compaction):
            yield from self._compacted(block)
        elif isinstance(block, Event):
            yield from self._happened(block)
        elif isinstance(block, Tool):
            self._output(self._taken(block), {})
            yield from self._given_back()
        elif isinstance(block, Unknown) and self.own and (item := codec.mapping(block.value)):
            yield self.line("response_item", item)
        else:
            self.losses.add_block(block)

    def _compacted(self, block: Compaction) -> Iterator[bytes]:
        self.at = block.ref.at or self.at
        detail = codec.mapping(block.detail)
        if self.own and "item" in detail:
            yield self.line("response_item", detail["item"])
        elif self.own or block.text:
            yield self.line("compacted", compose.compacted(block))

    def _is_carried(self, event: Event) -> bool:
        """Whether an event has a record of its own: a name, tokens, injected text, what a reader was shown."""
        detail = codec.mapping(event.detail)
        if event.kind == "title":
            return detail.get("by") == "user" and detail.get("title") != self.title
        if event.kind in _REPORTS:
            return self.own and "usage" in detail
        return self.own and (
            event.kind in prompts.REMEMBERED or event.kind in _EMPTY or bool(event.text and events.again(event))
        )

    def _happened(self, event: Event) -> Iterator[bytes]:
        if not self._is_carried(event):
            self.losses.add_block(event)
            return
        self.at = event.ref.at or self.at
        if event.kind in prompts.REMEMBERED:
            content = [{"type": "input_text", "text": event.text or event.detail or ""}]
            yield self.line("response_item", {"type": "message", "role": "user", "content": content})
        elif event.kind in _EMPTY:
            yield self.line("response_item", {"type": "message", "role": _EMPTY[event.kind], "content": []})
        elif event.kind in _REPORTS:
            detail = codec.mapping(event.detail)
            yield self._tokens(detail["usage"], detail.get("response"))
        elif event.kind == "title":
            self.title = codec.mapping(event.detail)["title"]
            yield self._event("thread_name_updated", thread_id=self.session, thread_name=self.title)
        else:
            yield from self._shown(event, events.again(event) or {})

    def _shown(self, event: Event, payload: dict[str, Any]) -> Iterator[bytes]:
        if event.kind in _ENDING:
            self.open = False
            payload["turn_id"] = self.turn
        elif event.kind == "thread rolled back":
            yield from self.end()
        if "item" in codec.mapping(event.detail):
            yield self.line("response_item", payload)
        else:
            yield self.line("inter_agent_communication" if "content" in payload else "event_msg", payload)


def _ends(block: Block) -> bool:
    """Whether a response is over when this happens: nothing is told to a model while it answers."""
    kinds = prompts.REMEMBERED.union(_TURNING, _ENDING if isinstance(block, Event) and block.text else ())
    return isinstance(block, Compaction) or (isinstance(block, Event) and block.kind in kinds)
