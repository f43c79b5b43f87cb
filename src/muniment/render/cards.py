"""An engagement as a card: what was done, decided and left open."""

from __future__ import annotations

from muniment.model.engagements import METHODS, KeptEngagement
from muniment.model.words import many
from muniment.render.blocks import words


def card(engagement: KeptEngagement, page: str) -> str:
    """One engagement; `page` is where its rounds are, if not on this page."""
    first, last = engagement.span
    turns = f"Round {first}" if first == last else f"Rounds {first}–{last}"
    parts = [
        f'<article class="card {method_class(engagement)}"><h3>{words(engagement.topic)}</h3>',
        f'<p class="line">{method(engagement)}<span class="phase">{words(engagement.phase)}</span>',
        f'<a href="{page}#r{first}">{turns}</a>',
        f"<span>{words(engagement.project)}</span></p>" if engagement.project else "</p>",
        f"<p>{words(engagement.outcome)}</p>" if engagement.outcome else "",
        _left(engagement, folded=bool(page)),
        "</article>\n",
    ]
    return "".join(parts)


def _left(engagement: KeptEngagement, folded: bool) -> str:
    """What was decided and what is open; on a page of many cards, folded."""
    decided, steps = engagement.key_decisions, engagement.next_steps
    lists = _list("Decided", decided) + _list("Next", steps)
    if not lists or not folded:
        return lists
    counted = ((len(decided), "decision"), (len(steps), "next step"))
    counts = ", ".join(many(count, noun) for count, noun in counted if count)
    return f"<details><summary>{counts}</summary>{lists}</details>"


def method(engagement: KeptEngagement) -> str:
    """The method as a coloured word."""
    return f'<span class="method {method_class(engagement)}">{words(engagement.method)}</span>'


def method_class(engagement: KeptEngagement) -> str:
    return f"m-{engagement.method}" if engagement.method in METHODS else ""


def _list(name: str, said: tuple[str, ...]) -> str:
    if not said:
        return ""
    return f"<h4>{name}</h4><ul>{''.join(f'<li>{words(one)}</li>' for one in said)}</ul>"
