"""Round files: the specified shape, and every round comes back whole."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_document import messages, names, values

from muniment.errors import NotFound, StoreError
from muniment.model import Message, Ref, Round, Text, Tool, Usage
from muniment.store import rounds
from muniment.store.layout import Shelf

usages = st.builds(Usage, st.integers(0, 2**70), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
all_rounds = st.builds(
    Round,
    number=st.integers(1, 10**6),
    messages=st.lists(st.tuples(messages, st.none() | usages, values, st.none() | names), max_size=4).map(
        lambda drawn: tuple(
            Message(m.role, m.at, m.blocks, m.id, m.model, m.sidechain, m.queued, usage, raw, cwd)
            for m, usage, raw, cwd in drawn
        )
    ),
    prompted=st.booleans(),
    parent=st.none() | names,
    offset=st.integers(0, 2**50),
)


@settings(max_examples=300)
@given(all_rounds)
def test_a_round_comes_back_whole(round_: Round) -> None:
    if round_.prompted and round_.prompt is None:
        return  # no reader says that a round is prompted without giving the prompt
    assert rounds.decode(rounds.encode(round_)) == round_


def test_a_round_file_has_the_specified_shape() -> None:
    """`user` is the prompt, `agent` all other blocks in order, engagement tags live elsewhere."""
    prompt = Message("user", "2026-01-02", (Text("go", Ref(5, 9, "u")),))
    answer = Message("assistant", "2026-01-03", (Text("yes"), Tool("t", "Bash")), id="m", usage=Usage(3, 4))
    event = Message("assistant", None, (Text("before"),))
    stored = json.loads(rounds.encode(Round(7, (event, prompt, answer), True, "p", 5)))
    assert list(stored)[:6] == ["round", "started", "engagement_id", "user", "agent", "token_count"]
    assert (stored["round"], stored["started"], stored["engagement_id"]) == (7, "2026-01-02", None)
    assert stored["user"]["blocks"] == [{"type": "text", "text": "go", "ref": {"offset": 5, "length": 9, "id": "u"}}]
    assert [block.get("text", block["type"]) for block in stored["agent"]] == ["before", "yes", "tool"]
    assert stored["token_count"] == 7


def test_media_bytes_stay_out_of_the_round_file() -> None:
    round_ = Round(1, media={"a.png": b"secret bytes"})
    assert rounds.decode(rounds.encode(round_)) == rounds.stripped(round_) == Round(1)


def test_a_field_of_a_newer_version_does_no_harm() -> None:
    data = rounds.encode(Round(1, (Message("assistant", blocks=(Text("a"),)),)))
    assert rounds.decode(data.replace(b'{"round":1', b'{"mood":"fine","round":1')) == rounds.decode(data)


def put(folder: Path, number: int, data: bytes) -> Shelf:
    shelf = Shelf(str(folder / "s"))
    shelf.rounds.mkdir(parents=True, exist_ok=True)
    shelf.round_file(number).write_bytes(data)
    return shelf


def test_stored_rounds_are_loaded_in_order_up_to_the_first_gap(tmp_path: Path) -> None:
    for number in (1, 2, 4):
        shelf = put(tmp_path, number, rounds.encode(Round(number)))
    assert [round_.number for round_ in rounds.load_all(shelf)] == [1, 2]
    assert [round_.number for round_ in rounds.load_all(shelf, 4)] == [4]


DAMAGED = [b"", b"\0" * 100, b"{", b"[]", b'{"round":1}', b"\xff", b"[" * 100_000]


@pytest.mark.parametrize("data", DAMAGED, ids=["empty", "nuls", "torn", "list", "fields", "bytes", "deep"])
def test_a_damaged_round_file_is_named(tmp_path: Path, data: bytes) -> None:
    shelf = put(tmp_path, 1, data)
    with pytest.raises(StoreError, match=r"001\.json: damaged"):
        rounds.load(shelf, 1)


def test_a_round_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no round 3"):
        rounds.load(Shelf(str(tmp_path / "s")), 3)
