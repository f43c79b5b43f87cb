"""Which rounds are there at which fidelity: the four ways to fill a pack.

`archaeology` gives everything, rewound rounds too. `specialist` gives the rounds of the selection and nothing of the
rest. `successor` tells where the work stands, then what was said in short, then the last rounds as fully as they fit,
then the rest as lines of the index. `explicit` does what it is told. All of them take the latest first when room is
short.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from muniment.context import telling
from muniment.context.fidelity import LEVELS, Level, gist, round_parts
from muniment.context.filling import Filled, about, count_references, put_some, reference, within
from muniment.context.harvest import harvest
from muniment.context.loading import Loaded
from muniment.context.packing import Packer
from muniment.context.parts import Fidelity, Part
from muniment.context.selection import Ranges
from muniment.context.successor import Successor
from muniment.model import Round

Policy = Literal["successor", "specialist", "archaeology", "explicit"]
POLICIES: tuple[Policy, ...] = ("successor", "specialist", "archaeology")


class Explicit(Struct, frozen=True):
    """Rounds that a person chose, as ranges, both ends included."""

    full: Ranges
    reference: Ranges | None = ()
    """None means all others."""


def fill(loaded: Loaded, packer: Packer, room: int, policy: Policy, explicit: Explicit | None) -> Filled:
    """Fill at most `room` of a pack with one session."""
    floor = packer.left - room
    put_some(packer, telling.session(loaded), floor)
    match policy:
        case "successor":
            return Successor(loaded, packer, floor).fill()
        case "specialist":
            return _specialist(loaded, packer, floor)
        case "archaeology":
            return _everything(loaded, packer, floor, sorted(loaded.scope.rounds), ())
        case "explicit":
            assert explicit, "chosen rounds come with the choice"
            return _explicit(loaded, packer, floor, explicit)


def _specialist(loaded: Loaded, packer: Packer, floor: int) -> Filled:
    put_some(packer, telling.engagements(loaded), floor, (packer.left - floor) // 5)
    return _everything(loaded, packer, floor, loaded.live, ())


def _explicit(loaded: Loaded, packer: Packer, floor: int, chosen: Explicit) -> Filled:
    full = within(loaded.scope.rounds, chosen.full)
    others = loaded.scope.rounds - full
    wanted = others if chosen.reference is None else within(others, chosen.reference)
    return _everything(loaded, packer, floor, sorted(full), sorted(wanted))


def brief(loaded: Loaded, packer: Packer, policy: Policy, kept: Sequence[int]) -> Filled:
    """What is told beside rounds that are given as they were: everything else, in short."""
    put_some(packer, telling.session(loaded), 0)
    if policy == "successor":
        return Successor(loaded, packer, 0).fill(kept)
    put_some(packer, telling.engagements(loaded), 0)
    filled = Filled(dict.fromkeys(loaded.scope.rounds, "omitted"))
    others = [number for number in sorted(loaded.scope.rounds, reverse=True) if number not in kept]
    put_some(packer, (reference(loaded, loaded.round(number)) for number in others), 0)
    count_references(packer, loaded.id, filled)
    return filled


# -- all rounds alike


def _everything(loaded: Loaded, packer: Packer, floor: int, full: Sequence[int], referenced: Sequence[int]) -> Filled:
    """Every round at the best level at which all of them fit; what does not fit at any, from the front, in ever fewer
    words."""
    filled = Filled(dict.fromkeys(loaded.scope.rounds, "omitted"))
    lines = (reference(loaded, loaded.round(number)) for number in reversed(referenced))
    put_some(packer, lines, floor, (packer.left - floor) // 3)
    room = packer.left - floor
    first = next((at for at, level in enumerate(LEVELS) if _all_fit(loaded, packer, full, level, room)), len(LEVELS))
    for number in reversed(full):
        for fidelity, parts in _ladder(loaded, loaded.round(number), first):
            if packer.put(parts, packer.left - floor):
                filled.fidelity[number] = fidelity
                break
    count_references(packer, loaded.id, filled)
    return filled


def _all_fit(loaded: Loaded, packer: Packer, full: Sequence[int], level: Level, room: int) -> bool:
    spent = 0
    for number in reversed(full):
        round_ = loaded.round(number)
        spent += packer.cost(round_parts(loaded.id, round_, level, about(round_)))
        if spent > room:
            return False
    return True


def _ladder(loaded: Loaded, round_: Round, first: int) -> Iterable[tuple[Fidelity, list[Part]]]:
    """A round in ever fewer words."""
    for level in LEVELS[first:]:
        yield level.fidelity, round_parts(loaded.id, round_, level, about(round_))
    made = harvest(loaded.id, [round_])
    for limit in (600, 200):
        heard = [gist(said, "user", limit) for said in made.prompts]
        told = [gist(said, "agent", limit) for said in made.answers]
        if parts := [part for part in (*heard, *told) if part]:
            yield "gist", parts
    yield "reference", [reference(loaded, round_)]
