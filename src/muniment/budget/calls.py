"""The calls to a model that rounds tell of, in order, and the cuts between them: pure functions.

One API message is one call, by its id, however many rounds or subagents repeat it. What is missing is estimated from
the sizes of texts and marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, structs

from muniment.model import Block, Compaction, Message, Round, Text, Thinking, Tool, Usage
from muniment.prices import tokens
from muniment.store.rows import input_text


class Call(Struct, frozen=True, gc=False):
    """One API message with the tokens it took."""

    round: int
    offset: int
    model: str | None
    usage: Usage
    id: str | None = None
    sidechain: str | None = None

    @property
    def window(self) -> int | None:
        """What stood in the context when the answer was complete; None where only the answer is counted."""
        used = self.usage
        return used.total if used.input or used.cache_read or used.cache_write else None


class Cut(Struct, frozen=True, gc=False):
    """The context was compacted here."""

    round: int
    offset: int
    summary: int
    """Tokens of the summary, as far as it can be read; an estimate."""


class Heard(Struct, frozen=True):
    """What one round says about the window."""

    round: int
    started: str | None
    steps: tuple[Call | Cut, ...]
    """Of the conversation itself, in the order of their records."""
    inline: tuple[Call, ...]
    """Of subagents that an old source wrote into the main file."""
    text_tokens: int
    """Of everything said and done in the round; an estimate."""
    last_text_tokens: int
    """Of what came behind the last cut."""
    model: str | None


def hear(round_: Round) -> Heard:
    """What a round says about the window; texts are measured and not kept."""
    own = [message for message in round_.messages if not message.sidechain]
    steps = [*(call for message in own if (call := _call(round_, message))), *_cuts(round_)]
    steps.sort(key=lambda step: step.offset)
    last_cut = max((step.offset for step in steps if isinstance(step, Cut)), default=-1)
    sizes = [(block.ref.offset, _size(block)) for message in own for block in message.blocks]
    return Heard(
        round_.number,
        round_.started,
        tuple(steps),
        tuple(call for message in round_.messages if message.sidechain and (call := _call(round_, message))),
        sum(size for _, size in sizes),
        sum(size for offset, size in sizes if offset > last_cut),
        next((m.model for m in reversed(own) if m.model and not m.model.startswith("<")), None),
    )


def _call(round_: Round, message: Message) -> Call | None:
    if message.usage is None or not message.usage.total:
        return None
    said = [b.ref.offset for b in message.blocks if isinstance(b, (Text, Thinking, Tool))]
    offset = min(said, default=min((b.ref.offset for b in message.blocks), default=0))
    return Call(round_.number, offset, message.model, message.usage, message.id, message.sidechain)


def _cuts(round_: Round) -> Iterator[Cut]:
    """A summary may come in several parts of one record."""
    parts: dict[int, int] = {}
    for block in round_.blocks():
        if isinstance(block, Compaction):
            parts[block.ref.offset] = parts.get(block.ref.offset, 0) + tokens(block.text)
    yield from (Cut(round_.number, offset, size) for offset, size in parts.items())


def _size(block: Block) -> int:
    """About how many tokens a block takes in the context; thoughts of earlier rounds do not stay there."""
    if isinstance(block, Text):
        return tokens(block.text)
    if isinstance(block, Tool):
        output = sum(tokens(part.text) for part in block.output or () if isinstance(part, Text))
        return output + (tokens(input_text(block)) if block.name else 0)
    return 0


def once(calls: Iterable[Call], seen: set[str]) -> list[Call]:
    """Every call once, by its id, where it first stands, with the most that was told of its answer.

    `seen` are ids that count already; those of these calls are added."""
    kept: list[Call] = []
    place: dict[str, int] = {}
    for call in calls:
        if call.id is None:
            kept.append(call)
        elif call.id in place:
            known = kept[place[call.id]]
            if call.usage.output > known.usage.output:
                kept[place[call.id]] = structs.replace(known, usage=call.usage)
        elif call.id not in seen:
            place[call.id] = len(kept)
            kept.append(call)
    seen.update(place)
    return kept
