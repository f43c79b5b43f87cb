"""How near an extraction comes to the labels.

- **Boundaries**: the first turn of every range except turn 1. A predicted one is right if a true one that no other
  prediction has taken is at most one turn away. Sessions with a single engagement count: a boundary there is wrong.
- **Pk**: a window of half the mean length of the session's true ranges is moved over the turns; it is the part of
  all windows, of all sessions together, for which prediction and label disagree whether both ends are in one range.
- **WindowDiff**: the same windows, disagreeing on how many boundaries lie in them.
- **Method and phase**: of each true engagement, compared with the predicted one that shares the most turns with it.
- **Identity**: sessions whose agent's name, or that there is none, was told.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from muniment.model.engagements import Engagement
from tests.quality.gold import Label, Labelled

TOLERANCE = 1


class Found(Struct, frozen=True):
    """What an extractor found in one session."""

    engagements: tuple[Engagement, ...]
    agent_name: str | None = None

    @property
    def starts(self) -> list[int]:
        return sorted(first for one in self.engagements for first, _ in one.turn_ranges if first > 1)


class Score(Struct, frozen=True):
    """Figures over all sessions."""

    precision: float
    recall: float
    f1: float
    pk: float
    window_diff: float
    method: float
    phase: float
    identity: float


def score(found: Sequence[Found], labels: Sequence[Label]) -> Score:
    """All figures of one extractor."""
    pairs = list(zip(found, labels, strict=True))
    hits = sum(matched(one.starts, label.starts) for one, label in pairs)
    predicted = sum(len(one.starts) for one in found)
    true = sum(len(label.starts) for label in labels)
    windows = [_windows(one.starts, label.starts, label.rounds) for one, label in pairs]
    nearest = [(_nearest(engagement, one), engagement) for one, label in pairs for engagement in label.engagements]
    return Score(
        precision=hits / predicted if predicted else 0.0,
        recall=hits / true if true else 0.0,
        f1=2 * hits / (predicted + true) if predicted + true else 0.0,
        pk=_part(sum(apart for apart, _, _ in windows), sum(count for _, _, count in windows)),
        window_diff=_part(sum(counted for _, counted, _ in windows), sum(count for _, _, count in windows)),
        method=_part(sum(one is not None and one.method == true.method for one, true in nearest), len(nearest)),
        phase=_part(sum(one is not None and one.phase == true.phase for one, true in nearest), len(nearest)),
        identity=_part(sum(one.agent_name == label.agent_name for one, label in pairs), len(pairs)),
    )


def _part(some: int, whole: int) -> float:
    return some / whole if whole else 0.0


def matched(predicted: Sequence[int], true: Sequence[int]) -> int:
    """How many predictions have a true boundary of their own at most one turn away."""
    left = list(true)
    hits = 0
    for at in predicted:
        near = next((other for other in left if abs(other - at) <= TOLERANCE), None)
        if near is not None:
            left.remove(near)
            hits += 1
    return hits


def _windows(predicted: Sequence[int], true: Sequence[int], turns: int) -> tuple[int, int, int]:
    """Windows on which the two disagree whether, and how often, it is cut, and all windows, of one session."""
    width = max(1, round(turns / (len(true) + 1) / 2))
    ours, theirs = _parts(predicted, turns), _parts(true, turns)
    cuts = [(ours[at + width] - ours[at], theirs[at + width] - theirs[at]) for at in range(turns - width)]
    return sum(bool(one) != bool(other) for one, other in cuts), sum(one != other for one, other in cuts), len(cuts)


def _parts(starts: Sequence[int], turns: int) -> list[int]:
    """For every turn, how many boundaries came before it."""
    return [sum(start <= turn for start in starts) for turn in range(1, turns + 1)]


def _nearest(true: Labelled, found: Found) -> Engagement | None:
    """The predicted engagement that shares the most turns with a true one; the first of equals."""
    return max(found.engagements, key=lambda one: _shared(one, true), default=None)


def _shared(one: Engagement, true: Labelled) -> int:
    turns = true.turns
    return sum(turn in turns for first, last in one.turn_ranges for turn in range(first, last + 1))
