"""What holds for every session of Gemini CLI, whatever its form."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import check
from muniment.sources.base import SourceFile
from muniment.sources.gemini import SOURCE

from .chats import FACTS, chats, documents, facts_before, objects, places, read
from .test_read import FORMS

every_form = pytest.mark.parametrize("data", FORMS.values(), ids=FORMS.keys())


def check_resuming(data: bytes) -> None:
    rounds = read(data)
    before = facts_before(rounds)
    for k in range(1, len(rounds)):
        assert read(data, before[k], rounds[k].offset) == rounds[k:]


@every_form
def test_reading_each_form_may_begin_at_any_round(data: bytes) -> None:
    assert len(read(data)) == 2
    check_resuming(data)


@settings(max_examples=300)
@given(chats | documents)
def test_reading_may_begin_at_any_round(data: bytes) -> None:
    check_resuming(data)


@settings(max_examples=200)
@given(chats | documents)
def test_every_record_has_its_place_in_a_round(data: bytes) -> None:
    known = set[int]().union(*(places(round_) for round_ in read(data)))
    assert {record.offset for record in objects(data)} <= known


@settings(max_examples=200)
@given(chats | documents.filter(lambda made: b"\n" in made), st.data())
def test_a_file_may_be_cut_anywhere(data: bytes, draw: st.DataObject) -> None:
    rounds = read(data[: draw.draw(st.integers(0, len(data)))])
    assert rounds[:-1] == read(data)[: len(rounds) - 1]


@every_form
@settings(max_examples=100)
@given(st.data())
def test_any_bytes_may_be_hurt(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(data)))
    rounds = read(data[:at] + draw.draw(st.binary(max_size=6)) + data[at + 3 :])
    assert [round_.number for round_ in rounds] == list(range(1, len(rounds) + 1))


@every_form
def test_check_finds_no_loss_in_any_form(data: bytes) -> None:
    file = SourceFile("/x", "x.json", "main", len(data), 0)
    checked = check.check_transcript(SOURCE, FACTS, file, lambda: [data])
    assert checked.lossless
    if data != FORMS["history in one change"]:
        assert checked.document["text"].equal == 5
    assert checked.document["tool output"].equal == 2
