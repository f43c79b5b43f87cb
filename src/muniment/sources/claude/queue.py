"""What a human typed while the agent worked, as far as the program's queue tells it.

In 2.1.17 to 2.1.37 words that came through before the end of a turn stand nowhere but in the queue; later an attachment
has them, and the record that takes them out of the queue may repeat them. What comes through after the turn becomes a
prompt.
"""

from __future__ import annotations

from msgspec import Struct

from muniment.model import Ref, Text
from muniment.sources.builder import Draft, RoundBuilder
from muniment.sources.claude import parts, prompts
from muniment.sources.claude.records import Line


class Typed(Struct):
    """What somebody typed, and behind which message."""

    words: str
    ref: Ref
    behind: Draft | None


class Queue:
    """The queue in one round: reading may begin at any, so none knows what the one before left in it."""

    def __init__(self) -> None:
        self.waiting: list[Typed] = []
        self.absorbed: dict[str, tuple[Draft, Text]] = {}
        """What has come through, so far by the queue alone."""

    def take(self, line: Line, ref: Ref, round_: RoundBuilder) -> None:
        """A record of the queue; words that came through with it are steering, and stand where they were typed."""
        if line.operation == "enqueue":
            words = line.content if isinstance(line.content, str) else ""
            self.waiting.append(Typed(words, parts.plain(ref), round_.drafts[-1] if round_.drafts else None))
        elif line.operation == "popAll":
            self.waiting.clear()
        elif self.waiting:
            typed = self.waiting.pop(0)
            if line.operation == "remove" and line.content is None and prompts.is_typed(typed.words):
                self._absorb(typed, round_)

    def _absorb(self, typed: Typed, round_: RoundBuilder) -> None:
        draft, said = Draft("user", {"at": typed.ref.at, "queued": True}), Text(typed.words, typed.ref)
        draft.blocks.append(said)
        round_.insert(draft, typed.behind, typed.ref.offset)
        self.absorbed[typed.words] = draft, said
        for later in self.waiting:
            later.behind = draft if later.behind is typed.behind else later.behind

    def attached(self, words: str, round_: RoundBuilder) -> None:
        """An attachment has words: that is where they stand."""
        if known := self.absorbed.pop(words, None):
            round_.withdraw(*known)
