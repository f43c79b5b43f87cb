"""Where the weights of the offline extractor come from: logistic regression over the features of the labelled turns.

Newton's method in plain Python: 363 turns and nine weights need nothing more. A ridge keeps the weights of rare
features small; its strength and the threshold were chosen once, by leaving one session out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muniment.ingest import offline
from muniment.ingest.offline.boundaries import probability
from muniment.ingest.offline.features import features
from muniment.ingest.skeleton import Skeleton
from tests.quality.gold import Label

RIDGE = 0.5
_STEPS = 20
_CLOSE = 1e-6

Rows = list[tuple[tuple[float, ...], float]]
"""Features of a turn, and whether an engagement began there."""


def rows(skeleton: Skeleton, label: Label) -> Rows:
    """The turns of one session."""
    starts = set(label.starts)
    return [(row, float(at in starts)) for at, row in enumerate(features(offline.listen(skeleton)), 2)]


def fit(examples: Rows) -> tuple[float, ...]:
    """The weights that tell these examples best."""
    size = len(examples[0][0])
    weights = [0.0] * size
    for _ in range(_STEPS):
        step = solved(*_slope(examples, weights))
        weights = [weight + change for weight, change in zip(weights, step, strict=True)]
        if max(map(abs, step)) < _CLOSE:
            break
    return tuple(round(weight, 2) for weight in weights)


def _slope(examples: Rows, weights: Sequence[float]) -> tuple[list[list[float]], list[float]]:
    """Curvature and gradient of the likelihood, less the ridge; the bias has none."""
    size = len(weights)
    ridge = [0.0, *[RIDGE] * (size - 1)]
    curve = [[ridge[i] if i == j else 0.0 for j in range(size)] for i in range(size)]
    slope = [-ridge[i] * weights[i] for i in range(size)]
    for row, truth in examples:
        likely = probability(row, weights)
        for i, value in enumerate(row):
            slope[i] += (truth - likely) * value
            for j, other in enumerate(row):
                curve[i][j] += likely * (1 - likely) * value * other
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


def left_out(examples: Sequence[Rows]) -> Iterator[tuple[float, ...]]:
    """For every session, the weights learned from all the others."""
    for own in range(len(examples)):
        yield fit([row for at, part in enumerate(examples) if at != own for row in part])
