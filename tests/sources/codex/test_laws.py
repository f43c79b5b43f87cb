"""What holds for every rollout, real or made up."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.model import Round, codec

from .rollouts import CASES, FACTS, facts_before, lines, places, read, rollouts

any_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3) | st.sampled_from(["message", "user"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "text", "x"]), inner),
    max_leaves=4,
)


def check_resuming(data: bytes) -> None:
    rounds = read(data)
    before = facts_before(rounds)
    for k in range(1, len(rounds)):
        assert read(data, before[k], rounds[k].offset) == rounds[k:]


@settings(max_examples=400)
@given(rollouts)
def test_reading_may_begin_at_any_round(data: bytes) -> None:
    check_resuming(data)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_reading_a_fixture_may_begin_at_any_round(path: Path) -> None:
    check_resuming(path.read_bytes())


@settings(max_examples=200)
@given(rollouts)
def test_every_record_has_its_place_in_a_round(data: bytes) -> None:
    known = set[int]().union(*(places(round_) for round_ in read(data)))
    assert {record.offset for record in lines(data)} <= known


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
@settings(max_examples=60)
@given(st.data())
def test_a_file_may_be_cut_anywhere(path: Path, data: st.DataObject) -> None:
    whole = path.read_bytes()
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    rounds, facts = read(cut), facts_before(read(cut))
    assert [round_.number for round_ in rounds] == list(range(1, len(rounds) + 1))
    assert facts[-1].problems <= facts_before(read(whole))[-1].problems + 1
    # What was there before the cut is read as it was, up to the round that was open then.
    assert rounds[:-1] == read(whole)[: len(rounds) - 1]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
@settings(max_examples=40)
@given(st.data())
def test_any_bytes_may_be_hurt(path: Path, data: st.DataObject) -> None:
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    facts_before(read(whole[:at] + data.draw(st.binary(max_size=4)) + whole[at + 2 :]))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
@settings(max_examples=60)
@given(st.data())
def test_any_field_may_hold_anything(path: Path, data: st.DataObject) -> None:
    found = path.read_bytes().split(b"\n")
    number = data.draw(st.integers(0, len(found) - 1))
    try:
        record = json.loads(found[number])
    except ValueError:
        return
    if isinstance(record, dict):
        change(record, data)
        found[number] = json.dumps(record).encode()
        rounds = read(b"\n".join(found))
        facts_before(rounds)
        assert codec.decode(codec.encode(rounds), list[Round]) == rounds


def change(record: dict[str, Any], data: st.DataObject) -> None:
    """Put any value into any field, at any depth."""
    name = data.draw(st.sampled_from(sorted(record))) if record else "type"
    inner = record.get(name)
    if isinstance(inner, dict) and data.draw(st.booleans()):
        change(inner, data)
    elif isinstance(inner, list) and inner and isinstance(inner[0], dict) and data.draw(st.booleans()):
        change(inner[0], data)
    else:
        record[name] = data.draw(any_json)


@settings(max_examples=50)
@given(rollouts, rollouts)
def test_a_growing_file_never_changes_a_closed_round(data: bytes, more: bytes) -> None:
    closed = read(data)[:-1]
    assert read(data + more)[: len(closed)] == closed


def test_an_empty_file_is_one_empty_round() -> None:
    assert [(r.number, r.messages) for r in read(b"", FACTS)] == [(1, ())]
