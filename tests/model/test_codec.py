"""Values to JSON and back: exact for every text and number that a source can hold."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.model import Message, Text, Tool, codec

texts = st.text(st.characters(), max_size=8) | st.sampled_from(["\ud83d", "\ude00\ud83d", "\0", "\u2028", "é😀"])
scalars = st.none() | st.booleans() | st.integers() | st.integers(2**63, 10**40) | texts
scalars |= st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)


@given(values)
def test_any_value_comes_back_as_it_was(value: Any) -> None:
    message = Message(role="user", blocks=(Tool(id="t", name="n", input=value),))
    assert codec.decode(codec.encode(message), Message) == message


@given(values)
def test_a_value_of_no_known_shape_comes_back_as_it_was(value: Any) -> None:
    assert codec.loads(codec.encode(value)) == value


@given(texts)
def test_any_text_comes_back_as_it_was(text: str) -> None:
    assert codec.decode(codec.encode(Text(text)), Text) == Text(text)


def test_a_lone_surrogate_is_written_as_plain_ascii() -> None:
    assert codec.encode({"a": "\ud83d"}) == b'{"a":"\\ud83d"}'


def test_an_integer_keeps_all_of_its_digits() -> None:
    number = 123456789012345678901234567890
    assert codec.loads(str(number).encode()) == number
    assert codec.decode(codec.encode([number, -number]), list[int]) == [number, -number]


@pytest.mark.parametrize(
    "data",
    [b"NaN", b"[Infinity]", b'{"a":-Infinity}', b"1e999", b"-1e999", b"", b"{", b"[1]x", b"\xff", b"[" * 100_000],
    ids=["nan", "inf", "-inf", "overflow", "-overflow", "empty", "torn", "glued", "bytes", "deep"],
)
def test_what_is_no_json_or_could_not_be_written_back_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        codec.loads(data)


@pytest.mark.parametrize("value", [None, 1, "a", [1], True])
def test_only_an_object_is_a_mapping(value: Any) -> None:
    assert codec.mapping(value) == {}
    assert codec.mapping({"a": value}) == {"a": value}
