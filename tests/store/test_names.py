"""Names with humps: what is found in C and what is found in Python is the same."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muniment.store import names

IN_C = names.humped is not names.humped_by_search
WAYS = [pytest.param(names.humped_by_search, id="Python"), pytest.param(names.humped, id="C")]

letters = st.sampled_from(
    [b"a", b"z", b"A", b"Z", b"0", b"9", b" ", b"_", b"@", b"[", b"`", b"{", b"\0", b"\xc3\xa9", b"\xff"]
)
texts = st.one_of(st.binary(max_size=80), st.lists(letters, max_size=80).map(b"".join))


@pytest.mark.parametrize("humped", WAYS)
@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"checkToken", {b"checkToken"}),
        (b"an HTTPServer, x2Y", {b"HTTPServer", b"x2Y"}),
        (b"README Title snake_case", set()),
        (b"A", set()),
        (b"AA", set()),
        (b"", set()),
        (b"aB", {b"aB"}),
        (b"aB cD aB", {b"aB", b"cD"}),
        (b"a\0Bc dE", {b"dE"}),
    ],
)
def test_a_name_has_a_capital_that_begins_a_word(humped: names.Humped, text: bytes, found: set[bytes]) -> None:
    assert humped(text, names.SHAPES, 64) == found


@pytest.mark.parametrize("humped", WAYS)
def test_what_is_longer_than_a_name_is_none(humped: names.Humped) -> None:
    assert humped(b"aaaB aaaaB bbbB", names.SHAPES, 4) == {b"aaaB", b"bbbB"}


@given(texts, st.integers(0, 70))
@example(b"A" * 70 + b"a", 64)
def test_both_ways_find_the_same(text: bytes, longest: int) -> None:
    expected = names.humped_by_search(text, names.SHAPES, longest)
    assert names.humped(text, names.SHAPES, longest) == expected


@pytest.mark.skipif(not IN_C, reason="built without the module in C")
@pytest.mark.parametrize(
    "wrong", [("text", names.SHAPES, 64), (b"text", names.SHAPES[:255], 64), (b"", names.SHAPES, "64")]
)
def test_what_is_not_bytes_with_a_table_is_refused(wrong: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        names.humped(*wrong)  # pyright: ignore[reportArgumentType]
