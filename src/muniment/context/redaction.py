"""Taking secrets out of what is quoted, always the same way.

Elsewhere the tag of a placeholder is a keyed hash, under a key that nobody keeps. Here the same selection must give
the same bytes, and a key that can be derived from the archive could be tried against a weak password. So the tag is
no hash at all: it is the number of the secret in the order in which the pack meets them. Equal secrets have equal
numbers, and a number tells nothing.

A field is always looked at as a whole, before anything is cut out of it: half a key is not recognised as one.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec import structs

from muniment.model import Block, Compaction, Event, Media, Round, Text, Thinking, Tool, Unknown
from muniment.secrets.redact import TAG_DIGITS
from muniment.secrets.values import find_named


class Redactor:
    """Takes secrets out, and counts them."""

    def __init__(self, active: bool = True) -> None:
        self.active = active
        self.numbers: dict[str, int] = {}
        """Every secret that was met, by its number."""
        self.taken = 0
        """How many were taken out so far, equal ones counted again."""

    def text(self, text: str, name: str = "") -> str:
        """The text with a placeholder for each secret; `name` is what a member of JSON is called."""
        found = find_named(name, text) if self.active else []
        if not found:
            return text
        self.taken += len(found)
        pieces: list[str] = []
        at = 0
        for one in found:
            number = self.numbers.setdefault(text[one.start : one.end], len(self.numbers) + 1)
            pieces += text[at : one.start], f"[redacted:{one.rule.id}:{number:0{TAG_DIGITS}x}]"
            at = one.end
        return "".join([*pieces, text[at:]])

    def value(self, value: Any) -> Any:
        """The same for anything made of JSON; nothing here calls itself, because values may be nested deep."""
        whole: list[Any] = [value]
        waiting: list[tuple[Any, Any, str]] = [(whole, 0, "")]
        while waiting:
            holder, place, name = waiting.pop()
            item = holder[place]
            if isinstance(item, str):
                holder[place] = self.text(item, name)
            elif isinstance(item, list):
                holder[place] = parts = cast("list[Any]", item).copy()
                waiting += [(parts, number, name) for number in reversed(range(len(parts)))]
            elif isinstance(item, dict):
                holder[place] = new = dict[str, Any]()
                for key, member in cast("dict[str, Any]", item).items():
                    new[self._key(key, new)] = member
                waiting += [
                    (new, shown, key)
                    for shown, key in reversed(list(zip(new, cast("dict[str, Any]", item), strict=True)))
                ]
        return whole[0]

    def _key(self, key: str, taken: dict[str, Any]) -> str:
        """The name of a member; two stay two, even if they have become alike."""
        shown = self.text(key)
        while shown in taken:
            shown += "'"
        return shown

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
