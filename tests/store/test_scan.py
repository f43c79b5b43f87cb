"""Looking through texts: what is found in C and what is found in Python is the same."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muniment.store import scan
from muniment.store.names import SHAPES

HUMPED = [pytest.param(scan.humped_in_python, id="Python"), pytest.param(scan.humped, id="C")]
HAS_ANY = [pytest.param(scan.has_any_in_python, id="Python"), pytest.param(scan.has_any, id="C")]
FOREIGN = [pytest.param(scan.foreign_in_python, id="Python"), pytest.param(scan.foreign, id="C")]

letters = st.sampled_from(
    [b"a", b"z", b"A", b"Z", b"0", b"9", b" ", b"_", b"@", b"[", b"`", b"{", b"\0", b"\xc3\xa9", b"\xff"]
)
texts = st.one_of(st.binary(max_size=80), st.lists(letters, max_size=80).map(b"".join))


@pytest.mark.parametrize("humped", HUMPED)
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
def test_a_name_has_a_capital_that_begins_a_word(humped: scan.Humped, text: bytes, found: set[bytes]) -> None:
    assert humped(text, SHAPES, 64) == found


@pytest.mark.parametrize("humped", HUMPED)
def test_what_is_longer_than_a_name_is_none(humped: scan.Humped) -> None:
    assert humped(b"aaaB aaaaB bbbB", SHAPES, 4) == {b"aaaB", b"bbbB"}


@given(texts, st.integers(0, 70))
@example(b"A" * 70 + b"a", 64)
def test_both_ways_find_the_same_names(text: bytes, longest: int) -> None:
    assert scan.humped(text, SHAPES, longest) == scan.humped_in_python(text, SHAPES, longest)


@pytest.mark.parametrize("has_any", HAS_ANY)
@pytest.mark.parametrize("at", [0, 15, 16, 31, 32, 39])
def test_a_byte_is_found_wherever_it_stands(has_any: scan.HasAny, at: int) -> None:
    text = bytearray(b"x" * 40)
    assert not has_any(bytes(text), b"\0\x1b\xff")
    text[at] = 0xFF
    assert has_any(bytes(text), b"\0\x1b\xff")
    assert not has_any(bytes(text), b"")


@given(texts, st.binary(max_size=4))
def test_both_ways_find_the_same_bytes(text: bytes, wanted: bytes) -> None:
    assert scan.has_any(text, wanted) == scan.has_any_in_python(text, wanted)


@pytest.mark.parametrize("foreign", FOREIGN)
def test_what_is_foreign_is_none_of_ascii(foreign: scan.Foreign) -> None:
    assert foreign("a plain text, ünd → so weiter\x7f".encode()) == "ü→".encode()
    assert foreign(b"") == foreign(b"seven..") == foreign(b"eight...") == b""


@given(texts)
def test_both_ways_find_the_same_foreign_bytes(text: bytes) -> None:
    assert scan.foreign(text) == scan.foreign_in_python(text)


@pytest.mark.skipif(not scan.IN_C, reason="built without the module in C")
@pytest.mark.parametrize(
    ("function", "wrong"),
    [
        (scan.humped, ("text", SHAPES, 64)),
        (scan.humped, (b"text", SHAPES[:255], 64)),
        (scan.humped, (b"", SHAPES, "64")),
        (scan.has_any, (b"text", "x")),
        (scan.foreign, ("text",)),
        (scan.foreign, (None,)),
    ],
)
def test_what_is_not_bytes_is_refused(function: object, wrong: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        function(*wrong)  # pyright: ignore[reportCallIssue, reportUnknownVariableType]
