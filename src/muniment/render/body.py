"""The conversation of a session as markup, round by round, subagents in place.

Only one round is in memory. What the head of the page needs to know of the whole, the prompts and the counts, is noted
on the way, after redaction, so that nothing that was taken out comes back by a short cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from msgspec import Struct

from muniment.model import Facts, Round
from muniment.model.rounds import text_of
from muniment.model.words import many
from muniment.render import outline, results
from muniment.render.blocks import folded, item, words
from muniment.render.inspection import redact_markup
from muniment.render.known import Known
from muniment.render.pictures import picture
from muniment.render.shown import Item, Limits
from muniment.render.visible import one_line
from muniment.secrets import Redactor
from muniment.store import rounds as stored
from muniment.store.layout import Shelf

MAX_DEPTH = 8
"""Subagents of subagents; deeper ones are listed at the end."""


class Entry(Struct, frozen=True):
    """One round in the table of rounds."""

    round: int
    started: str
    preview: str
    engagement: str
    abandoned: bool


class Body:
    """One walk through a session."""

    def __init__(self, known: Known, redactor: Redactor, limits: Limits) -> None:
        self.known, self.redactor, self.limits = known.redacted(redactor), redactor, limits
        self.sides = {redactor.text(id_): id_ for id_ in known.sides}
        """Subagents, by what calls name them without secrets."""
        self.entries: list[Entry] = []
        self.kinds: Counter[str] = Counter()
        self.seen: set[str] = set()
        """Subagents that were shown where they were called."""

    def pieces(self, chosen: Callable[[int], bool], whole: bool) -> Iterator[str]:
        """The markup of the chosen rounds; of the whole session, the subagents that nothing calls too."""
        for round_ in stored.load_all(self.known.shelf):
            if chosen(round_.number):
                yield from self._round(self._redacted(round_))
        left = [id_ for id_ in self.sides.values() if id_ not in self.seen] if whole else []
        if left:
            yield '<section class="round"><h2>Other subagents</h2>\n'
            for id_ in left:
                yield from self._side(id_, 0)
            yield "</section>\n"

    def _redacted(self, round_: Round) -> Round:
        """Results are opened first: inside JSON secrets stand between escapes, which hide them."""
        return self.redactor.round(results.open_round(round_))

    def _round(self, round_: Round) -> Iterator[str]:
        entry = self._entry(round_)
        self.entries.append(entry)
        yield from _opening(entry)
        yield from self._items(round_, self.known.facts, 0)
        yield "</section>\n"

    def _entry(self, round_: Round) -> Entry:
        prompt = text_of(round_.prompt) if round_.prompt else ""
        number = round_.number
        return Entry(
            number,
            (round_.started or "")[:16].replace("T", " "),
            one_line(prompt, 120),
            self.known.tags.get(number, ""),
            number in self.known.abandoned,
        )

    def _items(self, round_: Round, facts: Facts, depth: int) -> Iterator[str]:
        made = outline.items([round_], limits=self.limits)
        for inline, group in groupby(made, key=lambda shown: shown.inline_side):
            pieces = self._spelt(group, facts, depth)
            if inline:
                yield from folded("Subagent", words(inline), pieces)
            else:
                yield from pieces

    def _spelt(self, group: Iterable[Item], facts: Facts, depth: int) -> Iterator[str]:
        for shown in group:
            self.kinds[shown.kind] += 1
            yield redact_markup(item(shown, self._picture, facts.model), self.redactor)
            side = self.sides.get(shown.tool.side) if shown.tool and shown.tool.side else None
            if side is not None and side not in self.seen and depth < MAX_DEPTH:
                yield from self._side(side, depth + 1)

    def _side(self, id_: str, depth: int) -> Iterator[str]:
        self.seen.add(id_)
        facts = self.known.sides[id_]
        about = f"{words(one_line(facts.display_title, 140))} · {many(facts.messages, 'message')}"
        yield from folded("Subagent", about, self._side_items(self.known.shelf.sidechain(id_), facts, depth))

    def _side_items(self, shelf: Shelf, facts: Facts, depth: int) -> Iterator[str]:
        for round_ in stored.load_all(shelf):
            yield from self._items(self._redacted(round_), facts, depth)

    def _picture(self, name: str) -> str:
        return picture(self.known.shelf.media, name)


def _opening(entry: Entry) -> Iterator[str]:
    number = entry.round
    gone = " abandoned" if entry.abandoned else ""
    yield f'<section class="round{gone}" id="r{number}"><h2><a href="#r{number}">Round {number}</a>'
    yield f"<time>{words(entry.started)}</time>"
    if entry.abandoned:
        yield '<span class="note">rewound: the conversation went on without it</span>'
    yield "</h2>\n"
