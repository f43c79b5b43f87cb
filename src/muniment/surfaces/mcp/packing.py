"""`context`: what a successor needs, within a budget. A pack brings its own fence and takes its own secrets out."""

from __future__ import annotations

from muniment.context import Request, Selection, build
from muniment.model import codec
from muniment.store.layout import Layout
from muniment.surfaces.mcp.fence import Answer

LEAST_TOKENS, MOST_TOKENS = 500, 50_000


def pack(layout: Layout, selection: Selection, budget: int) -> Answer:
    """A pack of at most so many tokens."""
    made = build(layout, Request(selection, budget=budget))
    return Answer(made.text, {"account": codec.loads(codec.encode(made.account)), "pack": made.text}, told=False)
