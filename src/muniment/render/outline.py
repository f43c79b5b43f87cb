"""The outline: what a person is shown of a session, block by block.

    items(rounds)       every item in full, its text as safe markup
    light(shelf)        kind, round, size and tool of every item, cheap enough for a session of 20 000 messages

Both number the items alike, so that a page can lay out the whole and fetch what is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import Any, cast

from msgspec import structs

from muniment.model import Block, Compaction, Event, Media, Message, Round, Text, Thinking, Tool, Unknown
from muniment.model.codec import mapping
from muniment.render import markdown, results, tools
from muniment.render.fields import TOO_DEEP, spelt_json
from muniment.render.light import light as light
from muniment.render.shown import SHOWN, WHOLE, Item, Kind, Light, Limits, ToolShown, kind_of
from muniment.render.visible import clip, visible

__all__ = ["SHOWN", "WHOLE", "Item", "Kind", "Light", "Limits", "ToolShown", "items", "kind_of", "light"]

Redact = Callable[[str], str]
MAX_DEPTH = 100
"""Of a value of JSON; no tool nests deeper, and Python's own limit is near."""


def items(
    rounds: Iterable[Round],
    start: int = 0,
    wanted: range | None = None,
    redact: Redact | None = None,
    limits: Limits = SHOWN,
) -> Iterator[Item]:
    """The items of these rounds, numbered from `start`; of those, only the wanted ones are rendered and given."""
    n = start
    for round_ in rounds:
        for message in round_.messages:
            for block in message.blocks:
                kind = kind_of(block, message.role)
                if kind is None:
                    continue
                if wanted is None or n in wanted:
                    opened = results.opened(block)
                    shown = redacted(opened, redact) if redact else opened
                    yield _item(n, kind, round_.number, message, shown, limits)
                n += 1
                if wanted is not None and n >= wanted.stop:
                    return


def _item(n: int, kind: Kind, number: int, message: Message, block: Block, limits: Limits) -> Item:
    html, cut = _markup(block, limits)
    return Item(
        n=n,
        kind=kind,
        round=number,
        at=block.ref.at or message.at,
        model=message.model,
        role=message.role,
        queued=message.queued,
        inline_side=message.sidechain,
        html=html,
        cut=cut,
        tool=tools.shown(block, limits) if isinstance(block, Tool) else None,
        media=block.name if isinstance(block, Media) else None,
    )


def _markup(block: Block, limits: Limits) -> tuple[str, int]:
    match block:
        case Text(text) | Thinking(text) | Compaction(text):
            return _written(text, limits)
        case Tool():
            said = tools.prose(block)
            return _written(said, limits) if said else ("", 0)
        case Event(kind, text):
            words, cut = clip(text, limits.output)
            return f"<p><strong>{_plain(kind)}</strong></p>{markdown.plain(words)}", cut
        case Unknown():
            words, cut = clip(block.damage or spelt_json(block.value), limits.value)
            return f"<p><strong>{_plain(block.kind)}</strong></p>{markdown.plain(words)}", cut
        case Media():
            return "", 0


def _written(text: str, limits: Limits) -> tuple[str, int]:
    words, cut = clip(text, limits.text)
    return markdown.render(words), cut


def _plain(text: str) -> str:
    return escape(visible(text))


# -- redaction


def redacted(block: Block, hide: Redact) -> Block:
    """The block with every string that could be shown passed through `hide`."""
    match block:
        case Tool():
            output = block.output and tuple(cast("Any", redacted(part, hide)) for part in block.output)
            name = hide(block.name) if block.name else block.name
            return structs.replace(block, name=name, input=_hidden(block.input, hide), output=output)
        case Text(text) | Thinking(text) | Compaction(text):
            return structs.replace(block, text=hide(text))
        case Event(kind, text):
            return structs.replace(block, kind=hide(kind), text=hide(text))
        case Unknown(kind, value, damage):
            return structs.replace(block, kind=hide(kind), value=_hidden(value, hide), damage=hide(damage))
        case Media():
            return block


def _hidden(value: Any, hide: Redact, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        return TOO_DEEP
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, list):
        return [_hidden(item, hide, depth + 1) for item in cast("list[Any]", value)]
    said = mapping(value)
    return {hide(k): _hidden(v, hide, depth + 1) for k, v in said.items()} if isinstance(value, dict) else value
