"""The figures on context packs that `make quality` prints hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.context.tokens import Count
from tests.quality import usefulness
from tests.quality.usefulness import BUDGET, Fact


def test_facts_are_labelled_by_the_rules() -> None:
    """At least twenty sessions, each with facts of several kinds."""
    cases = usefulness.cases()
    assert len(cases) >= 20
    assert all(len({fact.kind for fact in case.facts}) >= 2 for case in cases)
    assert {fact.kind for case in cases for fact in case.facts} == {"decision", "file", "command", "state", "name"}


def test_a_fact_is_present_if_one_of_its_strings_is() -> None:
    fact = Fact("name", "the branch", ("feature/x", "origin/feature/x"))
    assert fact.within("on feature/x now")
    assert not fact.within("on feature now")


def test_the_longest_piece_that_fits_is_taken() -> None:
    piece = usefulness._last("word " * 10_000, 100)
    count = Count()
    assert count.cost(piece) <= count.allowed(100) < count.cost("w" + piece)


@pytest.mark.corpus
def test_on_sessions_left_out_a_pack_holds_far_more_than_the_baselines(corpus: Path) -> None:
    results = usefulness.measure(corpus)
    pack, *others = [usefulness.share(results, way, seen=False) for way in usefulness.WAYS]
    assert pack.found / pack.facts >= 0.9
    assert all(pack.found > other.found * 1.2 for other in others), f"at {BUDGET} tokens"
