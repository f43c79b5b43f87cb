"""What events tell of the model's words, for files in which no item says them.

A client writes what the model said twice: as the event that its screen shows, and as the item that the model sees
again. The item counts. Some files hold only events, and a turn that is broken off may end between the two; then the
event is all there is, and becomes part of the conversation.
"""

from __future__ import annotations

from collections.abc import Callable

from muniment.model import Event, Ref, Text, Thinking
from muniment.sources.builder import Draft, RoundBuilder
from muniment.sources.codex import prompts
from muniment.sources.codex.records import Line, mapping, text

KINDS = frozenset({"agent_message", "agent_reasoning", "item_completed"})
"""Events that may tell what the model said."""


class Heard:
    """What events said, by their place, until an item says it too."""

    def __init__(self) -> None:
        self.said: dict[int, Text | Thinking] = {}

    def hear(self, line: Line, ref: Ref) -> None:
        """Remember what an event says."""
        item = mapping(line.payload, "item")
        if line.kind == "agent_message" and (said := text(line.payload, "message")):
            self.said[ref.offset] = Text(said, ref)
        elif line.kind == "agent_reasoning" and (said := text(line.payload, "text")):
            self.said[ref.offset] = Thinking(said, ref=ref)
        elif item.get("type") == "AgentMessage" and (said := "".join(prompts.texts_of(item))):
            self.said[ref.offset] = Text(said, ref)

    def forget_words(self, said: str) -> None:
        """An item repeats an event: the one with the same words, else the oldest that none repeated yet."""
        waiting = [place for place, block in self.said.items() if isinstance(block, Text)]
        same = [place for place in waiting if self.said[place].text == said]
        for place in (same or waiting)[:1]:
            del self.said[place]

    def forget_thoughts(self) -> None:
        """One item of reasoning repeats all events since the last: each told a part of its summary."""
        self.said = {place: block for place, block in self.said.items() if not isinstance(block, Thinking)}

    def speak(self, round_: RoundBuilder, begin: Callable[..., Draft], model: str | None) -> None:
        """What only events told becomes part of the conversation, where their events stand.

        An item follows its event at once, so what none has repeated before a human speaks none will."""
        if not self.said:
            return
        if not round_.drafts:
            begin("assistant", next(iter(self.said.values())).ref.at)
        drafts, round_.drafts = round_.drafts, []
        for draft in drafts:
            blocks, draft.blocks = draft.blocks, []
            round_.drafts.append(draft)
            for block in blocks:
                said = self.said.get(block.ref.offset) if isinstance(block, Event) else None
                if said and round_.drafts[-1].role == "user":
                    begin("assistant", said.ref.at, model=model)
                round_.drafts[-1].blocks.append(said or block)
        self.said = {}
