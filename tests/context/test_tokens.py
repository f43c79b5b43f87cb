"""The count of tokens: additive, from above, and never more than a token for a byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.context.tokens import Count, counting
from muniment.errors import MunimentError


@given(st.text(), st.text())
def test_the_whole_costs_what_its_pieces_cost(one: str, other: str) -> None:
    for count in (Count(), Count(2.5), Count(4)):
        assert count.cost(one + other) == count.cost(one) + count.cost(other)


@given(st.text(min_size=1))
def test_a_token_holds_at_least_a_byte_and_at_most_three(text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    tokens = Count().tokens(Count().cost(text))
    assert -(-size // 3) <= tokens <= size


def test_words_are_cheaper_than_signs_and_digits() -> None:
    assert Count().tokens(Count().cost("a plain sentence")) == 6
    assert Count().tokens(Count().cost("0123456789abcdef")) == 12
    assert Count().tokens(Count().cost("QUJDREVGR0g=")) == 12
    assert Count().tokens(Count().cost("漢字")) == 4


def test_a_ratio_counts_bytes() -> None:
    assert Count(4).tokens(Count(4).cost("12345678")) == 2
    assert Count(4).tokens(Count(4).cost("123456789")) == 3
    assert Count(2.5).allowed(10) == 25


@pytest.mark.parametrize("ratio", [0.0, 0.5, -1.0, 17.0, float("nan")])
def test_a_ratio_that_no_vocabulary_has_is_refused(ratio: float) -> None:
    with pytest.raises(MunimentError, match="bytes per token"):
        counting(ratio)
