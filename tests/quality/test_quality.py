"""The measures measure, and the figures that `make quality` prints hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.ingest import offline
from muniment.ingest.offline.weights import WEIGHTS
from muniment.model.engagements import Engagement
from tests.quality import gold, learn
from tests.quality.gold import Label, Labelled
from tests.quality.measures import Found, matched, score


def label(*ranges: tuple[int, int], rounds: int = 10, method: str = "build") -> Label:
    made = tuple(Labelled((one,), "", method, "completed") for one in ranges)
    return Label("f", "0", "s", rounds, made)


def found(*ranges: tuple[int, int], method: str = "build") -> Found:
    made = (Engagement(topic="", method=method, phase="completed", turn_ranges=(one,)) for one in ranges)  # pyright: ignore
    return Found(tuple(made))


def test_a_boundary_may_be_one_turn_off_and_counts_once() -> None:
    assert matched([4], [5]) == 1
    assert matched([3], [5]) == 0
    assert matched([4, 5, 6], [5]) == 1
    assert matched([2, 3], [2, 3]) == 2


def test_a_perfect_extraction_scores_full() -> None:
    one = score([found((1, 4), (5, 10))], [label((1, 4), (5, 10))])
    assert (one.precision, one.recall, one.f1, one.pk, one.window_diff) == (1, 1, 1, 0, 0)
    assert (one.method, one.phase, one.identity) == (1, 1, 1)


def test_a_false_boundary_in_a_whole_session_costs_precision_and_pk() -> None:
    one = score([found((1, 4), (5, 10))], [label((1, 10))])
    assert one.precision == 0
    assert one.pk == 0.8  # four of the five windows of half the session cross it


def test_a_missed_boundary_costs_recall_and_pk() -> None:
    one = score([found((1, 10))], [label((1, 5), (6, 10))])
    assert (one.recall, one.f1) == (0, 0)
    assert 0 < one.pk < 0.5


def test_a_second_boundary_in_a_window_is_told_by_window_diff_alone() -> None:
    one = score([found((1, 4), (5, 5), (6, 10))], [label((1, 4), (5, 10))])
    assert one.window_diff > one.pk


def test_the_method_is_that_of_the_engagement_with_most_turns_in_common() -> None:
    both = Found(found((1, 3), method="write").engagements + found((4, 10), method="build").engagements)
    assert score([both], [label((1, 10), method="build")]).method == 1
    assert score([both], [label((1, 10), method="write")]).method == 0


def test_weights_follow_the_examples() -> None:
    bias, weight = learn.fit([[((1.0, 1.0), 1.0), ((1.0, 0.0), 0.0)]] * 20)
    assert weight > 2 > 0 > bias
    assert learn.solved([[2, 1], [1, 3]], [3, 5]) == pytest.approx([0.8, 1.4])


def test_a_long_session_does_not_decide_for_all() -> None:
    said, unsaid = ((1.0, 1.0), 1.0), ((1.0, 1.0), 0.0)
    _, alone = learn.fit([[said, ((1.0, 0.0), 0.0)]] * 20)
    _, beside = learn.fit([[said, ((1.0, 0.0), 0.0)]] * 20 + [[unsaid] * learn.MOST])
    _, longer = learn.fit([[said, ((1.0, 0.0), 0.0)]] * 20 + [[unsaid] * learn.MOST * 9])
    assert alone > beside == longer


def test_every_turn_of_a_labelled_session_belongs_to_one_engagement() -> None:
    for label in [*gold.labels(), *gold.labels(gold.LATER), *gold.labels(gold.SHORT)]:
        turns = sorted(turn for one in label.engagements for turn in one.turns)
        assert turns == list(range(1, label.rounds + 1)), label.file


@pytest.mark.corpus
def test_the_figures_hold_on_sessions_left_out(corpus: Path) -> None:
    """And the weights that ship are what the labelled sessions give."""
    first, later = gold.labels(), gold.labels(gold.LATER)
    labels = [*first, *later]
    sessions = gold.sessions(corpus, labels)
    examples = [learn.rows(*pair) for pair in zip(sessions, labels, strict=True)]
    assert learn.fit(examples) == WEIGHTS
    made = (offline.extract(*pair) for pair in zip(sessions, learn.left_out(examples), strict=True))
    found = [Found(extraction.engagements) for extraction in made]
    one, other = score(found[: len(first)], first), score(found[len(first) :], later)
    assert one.f1 >= 0.6
    assert one.pk <= 0.12
    assert one.method >= 0.6
    assert other.f1 >= 0.5
    assert other.pk <= 0.3  # one engagement per session: 0.34
    assert other.method >= 0.6


@pytest.mark.corpus
def test_it_reads_every_session_there_is(corpus: Path) -> None:
    for skeleton in gold.everything(corpus):
        made = offline.extract(skeleton)
        turns = [at for one in made.engagements for first, last in one.turn_ranges for at in range(first, last + 1)]
        assert sorted(turns) == [turn.number for turn in skeleton.turns]
        assert all(one.topic for one in made.engagements)
