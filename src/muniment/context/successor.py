"""A pack for the agent that takes over: where the work stands, what was done, the last round, what was said in short,
the rest.

Each kind of thing may take a share of the room. What it leaves is there for the next, and what found no room is tried
again at the end, so a large budget ends in whole rounds and a small one in a few lines of each kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from muniment.context import telling
from muniment.context.fidelity import LEVELS, gist, round_parts
from muniment.context.filling import Filled, about, count_references, put_some, reference
from muniment.context.harvest import Harvest, Said, harvest
from muniment.context.loading import Loaded
from muniment.context.packing import Packer
from muniment.context.parts import Part
from muniment.model import Round

_SUBAGENT_CHARS = 300
_TOKEN_CHARS = 2.0
"""A token holds at least so many characters of prose, as they are counted here."""
_SHORT = ("user", "agent", "round")
"""What is told of a round in short, and is not needed where the round itself is there."""
_GIST_CHARS = (600, 400, 280, 200, 140, 90)


class Shares(Struct, frozen=True):
    """How much of the room each kind may take at most; what one leaves is there for the next."""

    engagements: float = 0.12
    standing: float = 0.08
    files: float = 0.12
    commands: float = 0.08
    commits: float = 0.10
    links: float = 0.06
    names: float = 0.10
    summary: float = 0.15
    last: float = 0.2
    """The last round alone, before anything is said of the others."""
    prompts: float = 0.3
    answers: float = 0.2
    subagents: float = 0.05
    references: float = 0.1
    more: float = 0.1
    """What found no room before."""


SHARES = Shares()


class Successor:
    """Fills a pack for the agent that takes over."""

    def __init__(self, loaded: Loaded, packer: Packer, floor: int) -> None:
        self.loaded, self.packer, self.floor = loaded, packer, floor
        self.room = packer.left - floor
        self.filled = Filled(dict.fromkeys(loaded.scope.rounds, "omitted"))
        self.lines: dict[int, Part] = {}
        self.whole: dict[int, list[Part]] = {}
        """Rounds that are there in full or clipped."""
        self.missed: list[Part] = []

    def fill(self, elsewhere: Sequence[int] | None = None) -> Filled:
        """Fill it. `elsewhere` are rounds that are given beside the pack: then no round is quoted whole."""
        found = harvest(self.loaded.id, self._seen())
        self._tell(found)
        if elsewhere is None:
            self._round(self.loaded.live[-1:], self.room * SHARES.last)
        else:
            self.whole.update({number: [] for number in elsewhere})
        self._gists(found.prompts, "user", SHARES.prompts)
        self._gists(found.answers, "agent", SHARES.answers)
        self._some(telling.subagents(self.loaded, found, _SUBAGENT_CHARS), SHARES.subagents)
        self._refer()
        self._some(self._missed(), SHARES.more)
        if elsewhere is None:
            self._last()
        self._some(self._missed(), 1.0)
        self.filled.items_omitted = len(self.missed)
        count_references(self.packer, self.loaded.id, self.filled)
        return self.filled

    def _seen(self) -> Iterable[Round]:
        for number in self.loaded.live:
            round_ = self.loaded.round(number)
            self.lines[number] = reference(self.loaded, round_)
            yield round_

    def _some(self, parts: Iterable[Part], share: float) -> None:
        self.missed += put_some(self.packer, parts, self.floor, int(self.room * share))

    def _missed(self) -> list[Part]:
        """What found no room so far, to be tried again: what is open first."""
        missed, self.missed = self.missed, []
        return sorted(missed, key=lambda part: part.section != "open")

    def _tell(self, found: Harvest) -> None:
        """What it was about, where it stands, what was done."""
        self._some(telling.engagements(self.loaded), SHARES.engagements)
        self._some(telling.standing(self.loaded, found), SHARES.standing)
        done = telling.done(self.loaded, found)
        if found.summary:
            chars = int(self.packer.count.tokens(int(self.room * SHARES.summary)) * _TOKEN_CHARS)
            self._some(telling.summary(self.loaded, found.summary, chars), SHARES.summary)
        self._some(done["files changed"], SHARES.files)
        self._some(done["commands that worked"], SHARES.commands)
        self._some(done["commits"], SHARES.commits)
        self._some(done["links"], SHARES.links)
        self._some(done["names"], SHARES.names)

    def _gists(self, said: Sequence[Said], label: str, share: float) -> None:
        """What one side said, in as many words for every round as the room allows; the latest first."""
        own = [one for one in reversed(said) if one.round not in self.whole]
        room = min(int(self.room * share), self.packer.left - self.floor)
        parts: list[Part] = []
        for limit in _GIST_CHARS:
            parts = [part for one in own if (part := gist(one, label, limit))]
            if self.packer.cost(parts) <= room:
                break
        stop = self.packer.left - room
        for part in parts:
            if self.packer.put([part], self.packer.left - stop):
                self.filled.fidelity[part.round or 0] = "gist"

    def _round(self, numbers: Sequence[int], room: float) -> bool:
        """Rounds as fully as they fit; tells whether there was room for them."""
        for number in numbers:
            round_ = self.loaded.round(number)
            for level in LEVELS:
                parts = round_parts(self.loaded.id, round_, level, about(round_))
                if self.packer.put(parts, min(int(room), self.packer.left - self.floor)):
                    self.filled.fidelity[number] = level.fidelity
                    self.whole[number] = parts
                    break
            else:
                return False
        return True

    def _last(self) -> None:
        """With the room that is left: the last round better, then the rounds before it, until one does not fit."""
        for number in reversed(self.loaded.live):
            if before := self.whole.pop(number, None):
                self.packer.drop(before)
            if not self._round([number], self.packer.left - self.floor):
                return
            short = [p for p in self.packer.parts if p.section in ("said", "references") and p.round == number]
            self.packer.drop(part for part in short if part.session_id == self.loaded.id and part.label in _SHORT)

    def _refer(self) -> None:
        """A line for every round of which nothing is there."""
        left = [n for n in self.loaded.live if self.filled.fidelity[n] == "omitted" and n not in self.whole]
        put_some(self.packer, [self.lines[n] for n in reversed(left)], self.floor, int(self.room * SHARES.references))
