"""The items of one session, as they are looked at: all of them lightly, some of them in full.

A session may be 70 MB, so only the rounds that hold the wanted items are read, and of a large round only the blocks.
What was found out about a session is kept until it grows.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial

from msgspec import MsgspecError

from muniment import files
from muniment.errors import NotFound
from muniment.model import Block, Compaction, Event, Message, Round, Text, Thinking, Tool, codec
from muniment.render import outline, tools
from muniment.render.shown import SHOWN, WHOLE, Item, Light, Limits, kind_of
from muniment.store import document, rounds
from muniment.store.layout import Shelf
from muniment.viewing import chart
from muniment.viewing.chart import Chart
from muniment.viewing.kept import Kept

MAX_ITEMS = 200
MAX_ANSWER_BYTES = 2_000_000
LARGE_ROUND = 1 << 20
KEPT_BYTES = 32 << 20
_ITEM_BYTES = 150
"""What an item costs in `Light` (four numbers in four lists), or in a chart."""
_ENTRY_BYTES = 2_000

Shown = tuple[Message, Block]


class Transcripts:
    """Reads transcripts for many who look. One large file at a time, so that memory stays bounded."""

    def __init__(self) -> None:
        self.kept = Kept(KEPT_BYTES)
        self.reading = threading.Lock()

    def light(self, shelf: Shelf) -> Light:
        """The items of a session, or of a subagent, without their contents."""
        return self.kept.get(("light", *_signature(shelf)), partial(self._look, shelf), _weight)

    def _look(self, shelf: Shelf) -> Light:
        with self.reading:
            return outline.light(shelf)

    def items(self, shelf: Shelf, first: int, count: int) -> Iterator[Item]:
        """Items in full, as many as fit into one answer, and always one if there is one."""
        light = self.light(shelf)
        wanted = range(first, min(first + count, first + MAX_ITEMS, len(light.kind)))
        size = 0
        for item in self._rendered(shelf, light, wanted, SHOWN):
            yield item
            size += len(codec.encode(item))
            if size > MAX_ANSWER_BYTES:
                return

    def item(self, shelf: Shelf, n: int) -> tuple[Item, str]:
        """One item with nothing cut, and its text as it was written."""
        light = self.light(shelf)
        if not 0 <= n < len(light.kind):
            raise NotFound(f"there is no item {n}", f"the session has {len(light.kind)}")
        (found,) = self._rendered(shelf, light, range(n, n + 1), WHOLE)
        round_, start = self._of_round(shelf, light, light.round[n], range(n, n + 1))
        return found, _written(shelf, list(_shown(round_))[n - start])

    def started_by(self, shelf: Shelf) -> dict[str, tuple[int, str]]:
        """For each subagent the item that started it, and what that was, as far as the source says."""
        key = ("sides", *_signature(shelf))
        return self.kept.get(key, partial(self._seek_starts, shelf), lambda found: _ENTRY_BYTES + 200 * len(found))

    def _seek_starts(self, shelf: Shelf) -> dict[str, tuple[int, str]]:
        light = self.light(shelf)
        found: dict[str, tuple[int, str]] = {}
        for n, tool in self._tools_with_subagents(shelf, light):
            found.setdefault(tool.sidechain or "", (n, tools.shown(tool, SHOWN).title))
        return found

    # -- reading

    def _rendered(self, shelf: Shelf, light: Light, wanted: range, limits: Limits) -> Iterator[Item]:
        for number in dict.fromkeys(light.round[wanted.start : wanted.stop]):
            round_, start = self._of_round(shelf, light, number, wanted)
            yield from outline.items([round_], start, wanted, limits=limits)

    def _of_round(self, shelf: Shelf, light: Light, number: int, wanted: range) -> tuple[Round, int]:
        """The wanted part of a round, and the number of its first item; a small round is read whole."""
        start = bisect_left(light.round, number)
        if known := self._chart(shelf, number):
            first = max(wanted.start - start, 0)
            return chart.read(shelf, known, first, wanted.stop - start), start + first
        return rounds.load(shelf, number), start

    def _chart(self, shelf: Shelf, number: int) -> Chart | None:
        """Where the blocks of a large round lie; None for one that is small, or that only the slow way can read."""
        changed = files.changed_at(shelf.round_file(number))
        if changed[1] < LARGE_ROUND:
            return None
        key = ("chart", str(shelf.round_file(number)), *changed)
        return self.kept.get(key, partial(self._made_chart, shelf, number), _chart_weight)

    def _made_chart(self, shelf: Shelf, number: int) -> Chart | None:
        with self.reading:
            try:
                return chart.make(shelf, number)
            except (MsgspecError, UnicodeDecodeError):
                return None

    def _tools_with_subagents(self, shelf: Shelf, light: Light) -> Iterator[tuple[int, Tool]]:
        for number in dict.fromkeys(light.round):
            with self.reading:
                if b'"sidechain":"' not in shelf.round_file(number).read_bytes():
                    continue
            for start in range(bisect_left(light.round, number), len(light.round), MAX_ITEMS):
                if light.round[start] != number:
                    break
                round_, first = self._of_round(shelf, light, number, range(start, start + MAX_ITEMS))
                for n, (_, block) in enumerate(_shown(round_), first):
                    if isinstance(block, Tool) and block.sidechain:
                        yield n, block


def _signature(shelf: Shelf) -> tuple[object, ...]:
    """Another one whenever a round was added or replaced. Closed rounds stay, the open one is put in place anew."""
    return (str(shelf.rounds), *files.changed_at(shelf.rounds))


def _weight(light: Light) -> int:
    return _ENTRY_BYTES + _ITEM_BYTES * len(light.kind)


def _chart_weight(known: Chart | None) -> int:
    return _ITEM_BYTES * len(known.places) if known else _ENTRY_BYTES


def _shown(round_: Round) -> Iterator[Shown]:
    for message in round_.messages:
        for block in message.blocks:
            if kind_of(block, message.role):
                yield message, block


def _written(shelf: Shelf, shown: Shown) -> str:
    """The text of a block itself; of what has none, as it stands in the document."""
    message, block = shown
    match block:
        case Text(text) | Thinking(text) | Compaction(text) | Event(_, text):
            return text
        case _:
            alone = Message(message.role, message.at, (block,))
            return document.render_message(alone, shelf.folder.name).partition("\n\n")[2].strip()


def first_items(light: Light, count: int) -> list[int]:
    """For each round the number of its first item."""
    return [bisect_left(light.round, number) for number in range(1, count + 1)]
