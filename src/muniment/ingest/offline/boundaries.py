"""Where engagements begin and end: boundaries by weighted evidence, then interrupted work put together again."""

from __future__ import annotations

import math
from collections.abc import Sequence

from muniment.ingest.offline.features import walk
from muniment.ingest.offline.hearing import Heard
from muniment.ingest.offline.weights import THRESHOLD, WEIGHTS

_ASIDE_TURNS = 2
"""An interruption is short; something longer is work of its own, and what follows it as well."""
_LIKE = 0.5


def segments(heard: Sequence[Heard], weights: Sequence[float] = WEIGHTS) -> list[list[range]]:
    """The engagements as ranges of positions in `heard`, in the order in which they began."""
    if not heard:
        return []
    starts = [0, *boundaries(heard, weights)]
    ranges = [range(start, end) for start, end in zip(starts, [*starts[1:], len(heard)], strict=True)]
    return _resumed(heard, ranges)


def boundaries(heard: Sequence[Heard], weights: Sequence[float]) -> list[int]:
    """The positions at which an engagement begins, without the first."""
    return list(walk(heard, lambda _, row: probability(row, weights) >= THRESHOLD))


def probability(row: Sequence[float], weights: Sequence[float]) -> float:
    """How likely an engagement begins here."""
    return 1 / (1 + math.exp(-sum(weight * value for weight, value in zip(weights, row, strict=True))))


def _resumed(heard: Sequence[Heard], ranges: Sequence[range]) -> list[list[range]]:
    """Ranges by engagement: what goes on in the same files after a short interruption by other work is the same."""
    found: list[list[range]] = []
    owners: list[list[range]] = []
    for at, part in enumerate(ranges):
        if at >= 2 and _interrupted(heard, *ranges[at - 2 : at + 1]):
            owner = owners[at - 2]
        else:
            owner = list[range]()
            found.append(owner)
        owner.append(part)
        owners.append(owner)
    return found


def _interrupted(heard: Sequence[Heard], first: range, aside: range, rest: range) -> bool:
    if len(aside) > _ASIDE_TURNS:
        return False
    left, between, right = (_files(heard, part) for part in (first, aside, rest))
    return _share(right, left) >= _LIKE and _share(between, left) == 0


def _files(heard: Sequence[Heard], part: range) -> frozenset[str]:
    return frozenset[str]().union(*(heard[at].deeds.written for at in part))


def _share(some: frozenset[str], others: frozenset[str]) -> float:
    return len(some & others) / len(some) if some else 0.0
