"""The outline: what a person is shown of a session, block by block.

    items(rounds)       every item in full, its text as safe markup
    light(shelf)        kind, round, size and tool of every item, cheap enough for a session of 20 000 messages

Both number the items alike, so that a page can lay out the whole and fetch what is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from muniment.model import Block, Compaction, Event, Media, Message, Round, Text, Thinking, Tool, Unknown
from muniment.render import markdown, results, tools
from muniment.render.fields import spelt_json
from muniment.render.light import light as light
from muniment.render.shown import SHOWN, WHOLE, Item, Kind, Light, Limits, ToolShown, kind_of
from muniment.render.visible import clip, visible

__all__ = ["SHOWN", "WHOLE", "Item", "Kind", "Light", "Limits", "ToolShown", "items", "kind_of", "light"]


def items(
    rounds: Iterable[Round],
    start: int = 0,
    wanted: range | None = None,
    limits: Limits = SHOWN,
) -> Iterator[Item]:
    """The items of these rounds, numbered from `start`; of those, only the wanted ones are rendered and given.

    Whoever shows them to others takes the secrets out of the rounds first."""
    n = start
    for round_ in rounds:
        for message in round_.messages:
            for block in message.blocks:
                kind = kind_of(block, message.role)
                if kind is None:
                    continue
                if wanted is None or n in wanted:
                    yield _item(n, kind, round_.number, message, results.opened(block), limits)
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
