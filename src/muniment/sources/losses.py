"""The account of what a written session does not carry, in the same words for every format; alike things are one entry.

Nothing of it is gone: the store keeps the session as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import structs

from muniment.model import Block, Event, Loss, Media, Thinking, Unknown

NO_PLACE = "this format has no place for it"

_NAMED = 3
"""How many kinds of quiet events are named."""
_MADE_ANEW = frozenset({"link", "title", "running-total", "header", "session meta", "terminator"})
"""Quiet events that a written file has of its own, or that say nothing to it."""


class Losses:
    """What was left out of one session."""

    def __init__(self, made_anew: frozenset[str] = frozenset()) -> None:
        """Events of the kinds that are `made_anew` are written from what the session itself says."""
        self.where = "the session"
        self.made_anew = made_anew | _MADE_ANEW
        self.found: dict[tuple[str, str], Loss] = {}
        self.quiet: Counter[str] = Counter()

    def add(self, what: str, why: str) -> None:
        """One more of its kind; the entry tells where the first was."""
        known = self.found.get((what, why))
        self.found[what, why] = structs.replace(known, count=known.count + 1) if known else Loss(self.where, what, why)

    def annotate(self, what: str, why: str) -> None:
        """One more that has no place and is there all the same, as words with a warning."""
        self.add(what, why)
        self.found[what, why] = structs.replace(self.found[what, why], annotated=True)

    def all(self) -> Iterator[Loss]:
        """Every entry; quiet events are one."""
        yield from self.found.values()
        if self.quiet:
            kinds = ", ".join(sorted(kind for kind, _ in self.quiet.most_common(_NAMED)))
            more = len(self.quiet) - _NAMED
            told = f"quiet events: {kinds}" + (f" and {more} more kinds" if more > 0 else "")
            yield Loss("around it", told, "they say nothing to the conversation", self.quiet.total())

    def add_block(self, block: Block) -> None:
        """A block for which there is no place."""
        if isinstance(block, Unknown) and block.damage:
            self.add("damaged line", "only a restore gives it back")
        elif isinstance(block, Unknown):
            self.add(f"part: {block.kind}", NO_PLACE)
        elif isinstance(block, Media):
            self.add("image" if block.media_type.startswith("image/") else "document", NO_PLACE)
        elif isinstance(block, Event) and block.text:
            self.add(f"event: {block.kind}", NO_PLACE)
        elif isinstance(block, Event):
            self.quiet.update({block.kind} - self.made_anew)
        elif isinstance(block, Thinking):
            self.add_thinking(block)
        else:
            self.add(type(block).__name__.lower(), NO_PLACE)

    def add_thinking(self, block: Thinking) -> None:
        """A thought, words and all."""
        if block.signature and not block.text:
            self.add("sealed thinking", "only its own provider can read it; kept in the store")
        elif block.signature:
            self.add("thinking", "a signature is valid only for its own provider; kept in the store")
        else:
            self.add("thinking", "providers take only what they signed; kept in the store")

    def add_signature(self, block: Thinking) -> None:
        """The proof of a thought, whose words are there if there were any."""
        told = "the words are there" if block.text else "there were no words; kept in the store"
        self.add("signature", f"it is valid only for its own provider; {told}")

    def add_result(self) -> None:
        """What came back of a call that is not in the session."""
        self.add("result without its call", "an agent takes no answer to what it did not ask")

    def add_subagent(self) -> None:
        """A message of a subagent that stood among those of the session."""
        self.add("message of a subagent", "a subagent is a session of its own")
