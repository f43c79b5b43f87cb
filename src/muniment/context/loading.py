"""A session of the selection, read from the store and never written to: its rounds without their secrets, the hashes
of its round files, and what it was understood as."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from muniment.context.places import Place
from muniment.context.selection import Scope
from muniment.context.spelling import Stated
from muniment.model import Facts, Round, Text, Tool
from muniment.model.engagements import Ingested
from muniment.secrets import Redactor
from muniment.store import rounds
from muniment.store.index import Index
from muniment.store.layout import Layout, Shelf


class Loaded:
    """One session, read round by round."""

    def __init__(self, layout: Layout, scope: Scope, redactor: Redactor, understood: Ingested | None) -> None:
        self.scope, self.redactor = scope, redactor
        self.understood = understood and redactor.record(understood)
        self.session = redactor.record(scope.session)
        self.id = scope.session.session_id
        self.shelf: Shelf = layout.shelf(scope.session.agent_id, self.id)
        self.layout = layout
        self.touched: set[tuple[str | None, int]] = set()
        """Rounds out of which something was taken, by subagent and number."""
        self.hashes: dict[tuple[str | None, int], str] = {}
        self.sides: dict[str, str] = {}
        """Ids of subagents, by what is shown of them."""

    @property
    def live(self) -> list[int]:
        """The rounds that are meant and were not rewound, in order."""
        return sorted(self.scope.rounds - self.scope.abandoned)

    def round(self, number: int, sidechain: str | None = None) -> Round:
        """A round without its secrets."""
        stored = rounds.load(self._shelf(sidechain), number)
        self.sides |= {self.redactor.text(tool.sidechain): tool.sidechain for tool in stored.of(Tool) if tool.sidechain}
        before = self.redactor.taken
        made = self.redactor.round(stored)
        if self.redactor.taken != before:
            self.touched.add((sidechain, number))
        return made

    def _shelf(self, sidechain: str | None) -> Shelf:
        return self.shelf.sidechain(self.sides.get(sidechain, sidechain)) if sidechain else self.shelf

    def rounds(self, numbers: Iterable[int]) -> Iterator[Round]:
        return map(self.round, numbers)

    def state(self, place: Place) -> Stated:
        """What is said of the round that a quote comes from.

        The hash of a file with secrets could be tried against guesses by whoever knows the rest of it, so for such a
        round the quoted words themselves are hashed, once all are known."""
        key = (place.sidechain, place.round)
        if key in self.touched:
            return Stated(self.id, place.round, "0" * 64, True, place.sidechain)
        if key not in self.hashes:
            path = self._shelf(place.sidechain).round_file(place.round)
            self.hashes[key] = hashlib.sha256(path.read_bytes()).hexdigest()
        return Stated(self.id, place.round, self.hashes[key], False, place.sidechain)

    def facts(self) -> Facts:
        with Index(self.layout) as index:
            return self.redactor.record(index.facts(self.id))

    def last_words(self, sidechain: str) -> tuple[Round, int] | None:
        """The last round of a subagent in which it said something, and the number of the block."""
        shelf = self._shelf(sidechain)
        last = 0
        while shelf.round_file(last + 1).exists():
            last += 1
        for number in range(last, 0, -1):
            round_ = self.round(number, sidechain)
            said = [
                (at, block)
                for at, (role, block) in enumerate((m.role, b) for m in round_.messages for b in m.blocks)
                if role == "assistant" and isinstance(block, Text) and block.text.strip()
            ]
            if said:
                return round_, said[-1][0]
        return None
