"""Rounds without their secrets.

A field is always looked at as a whole, before anything is cut out of it: half a key is not recognised as one.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec import structs

from muniment.model import Block, Compaction, Event, Media, Round, Text, Thinking, Tool, Unknown
from muniment.secrets import Numbered


class Redactor(Numbered):
    """Takes secrets out of everything that a pack could show, unless they may stay."""

    def __init__(self, active: bool = True) -> None:
        super().__init__()
        self.active = active

    def text(self, text: str, name: str = "") -> str:
        return super().text(text, name) if self.active else text

    def round(self, round_: Round) -> Round:
        """A round without its secrets."""
        if not self.active:
            return round_
        messages = tuple(structs.replace(m, blocks=tuple(map(self.block, m.blocks))) for m in round_.messages)
        return structs.replace(round_, messages=messages)

    def block(self, block: Block) -> Block:
        """A block with every string that could be shown passed through `text`."""
        match block:
            case Tool():
                output = block.output and tuple(cast("Any", self.block(part)) for part in block.output)
                return structs.replace(block, input=self.value(block.input), output=output)
            case Text(text) | Thinking(text) | Compaction(text) | Event(_, text):
                return structs.replace(block, text=self.text(text))
            case Unknown():
                return structs.replace(block, value=self.value(block.value), damage=self.text(block.damage))
            case Media():
                return block
