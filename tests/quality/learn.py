"""Where the weights of the offline extractor come from: logistic regression over the features of the labelled turns.

Newton's method in plain Python: 600 turns and eleven weights need nothing more. A ridge keeps the weights of rare
features small; its strength and the threshold were chosen once, by leaving sessions out. A long session tells more than
a short one, but not in proportion: its turns are alike, and a few of them must not decide for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muniment.ingest import offline
from muniment.ingest.offline.boundaries import probability
from muniment.ingest.offline.features import Row, walk
from muniment.ingest.skeleton import Skeleton
from tests.quality.gold import Label

RIDGE = 0.1
MOST = 20
"""A session counts for at most so many turns."""
_STEPS = 20
_CLOSE = 1e-4

Rows = list[tuple[Row, float]]
"""Of one session: features of every turn that may begin an engagement, and whether one began there."""


def rows(skeleton: Skeleton, label: Label) -> Rows:
    """The turns of one session, each compared with the engagement that it truly would continue."""
    found: Rows = []

    def begins(at: int, row: Row) -> bool:
        found.append((row, float(at + 1 in label.starts)))
        return at + 1 in label.starts

    for _ in walk(offline.listen(skeleton), begins):
        pass
    return found


def fit(sessions: Sequence[Rows]) -> tuple[float, ...]:
    """The weights that tell these examples best."""
    weights = [0.0] * len(sessions[0][0][0])
    for _ in range(_STEPS):
        step = solved(*_slope(sessions, weights))
        weights = [weight + change for weight, change in zip(weights, step, strict=True)]
        if max(map(abs, step)) < _CLOSE:
            break
    return tuple(round(weight, 2) for weight in weights)


def _slope(sessions: Sequence[Rows], weights: Sequence[float]) -> tuple[list[list[float]], list[float]]:
    """Curvature and gradient of the likelihood, less the ridge; the bias has none."""
    size = len(weights)
    ridge = [0.0, *[RIDGE] * (size - 1)]
    curve = [[ridge[i] if i == j else 0.0 for j in range(size)] for i in range(size)]
    slope = [-ridge[i] * weights[i] for i in range(size)]
    for examples in sessions:
        counts = min(1.0, MOST / len(examples))
        for row, truth in examples:
            likely = probability(row, weights)
            steep = counts * likely * (1 - likely)
            for i, value in enumerate(row):
                slope[i] += counts * (truth - likely) * value
                if value:
                    curve[i] = [old + steep * value * other for old, other in zip(curve[i], row, strict=True)]
    return curve, slope


def solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """The solution of a system of linear equations, by elimination."""
    table = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(table)
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(table[row][column]))
        table[column], table[pivot] = table[pivot], table[column]
        for row in range(size):
            if row != column:
                factor = table[row][column] / table[column][column]
                table[row] = [mine - factor * theirs for mine, theirs in zip(table[row], table[column], strict=True)]
    return [table[row][size] / table[row][row] for row in range(size)]


def left_out(sessions: Sequence[Rows]) -> Iterator[tuple[float, ...]]:
    """For every session, the weights learned from all the others."""
    for own in range(len(sessions)):
        yield fit([*sessions[:own], *sessions[own + 1 :]])
