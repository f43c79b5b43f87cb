"""Characters that steer or hide are shown as signs in text and written as escapes in JSON, whose value stays."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from muniment.model import codec
from muniment.model.controls import escape_json, plain

STEERING = "\x1b\x07\r\x7f\x85\x9b\u061c\u200b\u202e\u2066\u2028\ufeff\U000e0041"
text = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(STEERING)))


@given(text)
def test_nothing_that_steers_is_left_in_a_text(words: str) -> None:
    shown = plain(words)
    assert not set(STEERING) & set(shown)
    assert plain(shown) == shown


def test_newlines_tabs_and_joiners_stay() -> None:
    assert plain("a\n\tb 👩‍👩‍👧 می‌خواهم") == "a\n\tb 👩‍👩‍👧 می‌خواهم"
    assert plain("\x1b[2J\u202e") == "␛[2J‹U+202E›"


@given(st.dictionaries(text, st.lists(text)))
def test_json_keeps_its_value(value: object) -> None:
    data = escape_json(codec.encode(value))
    assert json.loads(data) == value
    assert not set(STEERING) & set(data.decode())
