"""The parts of a pack, whatever it is written as: quotes with their places, notes of our own, marks for what is left
out."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, structs

from muniment.context.places import Place, byte_range
from muniment.context.slices import LINE_BREAK
from muniment.model import Block, Ref, Tool

Fidelity = Literal["full", "clipped", "gist", "reference", "omitted"]
"""How much of a round is there: all of it; all that was said, with long pieces cut and some tool calls left out;
prompt and last answer, cut; a line of the index; nothing."""

Section = Literal["session", "engagements", "open", "done", "said", "rounds", "subagents", "references"]
SECTIONS: tuple[Section, ...] = ("session", "engagements", "open", "done", "said", "rounds", "subagents", "references")
"""In the order in which they are written."""


class Quote(Struct, frozen=True):
    """Words of the past, verbatim."""

    place: Place
    text: str


def on_one_line(quote: Quote, limit: int = 300) -> Quote:
    """The quote up to the end of its first line, and not too much of it."""
    found = LINE_BREAK.search(quote.text, 0, limit)
    text = quote.text[: found.start() if found else limit]
    if text == quote.text:
        return quote
    end = quote.place.start + len(text.encode("utf-8", "surrogatepass"))
    return Quote(structs.replace(quote.place, end=end), text)


class Part(Struct, frozen=True):
    """One thing that a pack tells."""

    section: Section
    label: str
    """What it is: `user`, `file`, `ran`, a tool's name."""
    session_id: str
    round: int | None = None
    quotes: tuple[Quote, ...] = ()
    note: str = ""
    """Words of ours about the past, or what an extractor made of it; may hold words of the past, so it is data too."""
    mark: str = ""
    """What is left out here, and where it is."""
    block: bool = False
    """Written as a block of its own; else its quotes are single lines."""


class Quoted(Struct, frozen=True):
    """A block of a round, ready to be quoted."""

    session_id: str
    round: int
    number: int
    block: Block
    sidechain: str | None = None

    def quote(self, field: str, text: str, start: int, end: int) -> Quote:
        """The characters from `start` to `end` of a field, with their place."""
        first, last = byte_range(text, start, end)
        whole = len(text.encode("utf-8", "surrogatepass"))
        ref = self._record(field)
        place = Place(
            self.session_id,
            self.round,
            self.number,
            field,
            first,
            last,
            whole,
            self.sidechain,
            ref.offset if ref.length else None,
        )
        return Quote(place, text[start:end])

    def _record(self, field: str) -> Ref:
        """Where the record lies that a field stands in: a call and its result have one each."""
        block = self.block
        if isinstance(block, Tool) and block.result and field.startswith("output/"):
            return block.result
        return block.ref
