"""What all ways to fill a pack share: putting parts while there is room, the line of the index for a round, and how the
rounds came out."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from muniment.context.loading import Loaded
from muniment.context.packing import Packer
from muniment.context.parts import Fidelity, Part
from muniment.context.selection import Numbers, Ranges
from muniment.context.slices import whole_words
from muniment.model import Round, Tool
from muniment.model.rounds import text_of

_MISSES = 3
"""Parts that may be too long before the shorter ones behind them are not tried any more."""
_PREVIEW_CHARS = 100


class Filled(Struct):
    """How the rounds of one session came out."""

    fidelity: dict[int, Fidelity]
    items_omitted: int = 0


def within(numbers: Numbers, ranges: Ranges) -> Numbers:
    """Those of the rounds that lie in one of the ranges."""
    return frozenset(n for n in numbers if any(first <= n <= last for first, last in ranges))


def put_some(packer: Packer, parts: Iterable[Part], floor: int, limit: int | None = None) -> list[Part]:
    """Put one part after the other while there is room; gives those that found none."""
    stop = max(floor, packer.left - limit) if limit is not None else floor
    missed: list[Part] = []
    for part in parts:
        if len(missed) > _MISSES or not packer.put([part], packer.left - stop):
            missed.append(part)
    return missed


def about(round_: Round) -> str:
    """When a round was, for its heading."""
    return (round_.started or "")[:16]


def reference(loaded: Loaded, round_: Round) -> Part:
    """The line of the index for a round. It is made from the round itself: a stored preview may hold half a secret."""
    own = [message for message in round_.messages if not message.sidechain]
    answers = (text_of(message) for message in own if message.role == "assistant")
    asked = whole_words(text_of(round_.prompt)[:1000], _PREVIEW_CHARS) if round_.prompt else ""
    told = whole_words(next((answer for answer in answers if answer.strip()), "")[:1000], _PREVIEW_CHARS)
    tools = sum(isinstance(block, Tool) and block.name is not None for message in own for block in message.blocks)
    words = [about(round_)[:10], asked, told and f"→ {told}", f"{tools} tools" if tools else ""]
    return Part("references", "round", loaded.id, round_.number, note=" · ".join(filter(None, words)))


def count_references(packer: Packer, session_id: str, filled: Filled) -> None:
    for part in packer.parts:
        number = part.round or 0
        told = part.section == "references" and part.session_id == session_id
        if told and filled.fidelity.get(number) == "omitted":
            filled.fidelity[number] = "reference"
