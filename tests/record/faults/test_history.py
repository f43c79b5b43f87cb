"""The judge of the conformance kit finds what it is there to find, and nothing else."""

from __future__ import annotations

import pytest

from muniment.record.conformance.history import Attempt, Note, attempts_of, changed, complaints, parse, payload_of


def attempt(uuid: str, invoked: int, accepted: int | None, durable: int | None = None, **more: str) -> Attempt:
    flavour = more.get("flavour", "")
    return Attempt(more.get("writer", "w"), uuid, 20, flavour, invoked, accepted, durable)


def event(uuid: str, flavour: str = "") -> tuple[str, str]:
    return uuid, payload_of(uuid, 20, flavour)


IN_TURN = [attempt("a", 1, 2, 3), attempt("b", 4, 5), attempt("c", 6, None)]


@pytest.mark.parametrize("read", ["ab", "abc"])
def test_all_is_well(read: str) -> None:
    """Whether an attempt that was not answered is there is open."""
    assert complaints(IN_TURN, [event(uuid) for uuid in read]) == []


@pytest.mark.parametrize(
    ("read", "complaint"),
    [
        ("a", "b was acknowledged (accepted) and is lost"),
        ("abx", "x was never attempted"),
        ("abb", "b is there more than once"),
        ("ba", "b stands before one that had been acknowledged before it began"),
    ],
)
def test_each_kind_of_wrong(read: str, complaint: str) -> None:
    assert complaints(IN_TURN, [event(uuid) for uuid in read]) == [complaint]


def test_other_content_is_not_the_event() -> None:
    found = complaints(IN_TURN, [event("a"), ("b", "something else")])
    assert found == ["b was never attempted", "b was acknowledged (accepted) and is lost"]


def test_a_cut_line_is_not_the_event() -> None:
    found = complaints(IN_TURN, [event("a"), ("b", payload_of("b", 20)[:-1])])
    assert "b was acknowledged (accepted) and is lost" in found


def test_a_power_cut_may_take_what_was_only_accepted() -> None:
    assert complaints(IN_TURN, [event("a")], survived="durable") == []
    assert complaints(IN_TURN, [event("b")], survived="durable") == ["a was acknowledged (durable) and is lost"]


def test_appends_at_the_same_time_may_stand_either_way() -> None:
    both = [attempt("a", 1, 4, writer="w"), attempt("b", 2, 3, writer="v")]
    assert complaints(both, [event("a"), event("b")]) == []
    assert complaints(both, [event("b"), event("a")]) == []


def test_order_holds_between_writers() -> None:
    three = [attempt("a", 1, 9, writer="u"), attempt("b", 2, 3, writer="v"), attempt("c", 4, 5, writer="w")]
    assert complaints(three, [event("c"), event("a"), event("b")]) == [
        "c stands before one that had been acknowledged before it began"
    ]


def test_an_event_of_two_writers_counts_from_the_first() -> None:
    """Either of them may have written it, so it may stand as early as the first attempt allows."""
    twice = [attempt("a", 1, None, writer="u"), attempt("b", 2, 3, writer="v"), attempt("a", 4, 5, writer="w")]
    assert complaints(twice, [event("a"), event("b")]) == []
    assert complaints(twice, [event("b"), event("a")]) == []


def test_both_contents_of_an_id_are_asked_for() -> None:
    two = [attempt("a", 1, 2), attempt("a", 3, 4, flavour="other")]
    assert complaints(two, [event("a"), event("a", "other")]) == []
    assert complaints(two, [event("a")]) == ["a was acknowledged (accepted) and is lost"]


def test_many_complaints_are_counted() -> None:
    lost = [attempt(f"e{number}", number * 2, number * 2 + 1) for number in range(9)]
    assert complaints(lost, [])[-1] == "… and 4 more: was acknowledged (accepted) and is lost"


def test_an_append_only_file_grows_at_its_end() -> None:
    assert changed({"f": b"one\n"}, {"f": b"one\ntwo\n"}) == []
    assert changed({"f": b"one\ntwo\n"}, {"f": b"one\n"})
    assert changed({"f": b"one\n"}, {"f": b"two\n"})
    assert changed({"f": b"one\n"}, {})


def test_a_history_is_read_up_to_where_its_writer_died() -> None:
    notes = parse([b'["invoke",1,"a",20,"",""]', b'["ok",2,"a"]', b'["inv'])
    assert notes == [Note("invoke", 1, "a", 20), Note("ok", 2, "a")]


def test_a_flush_covers_what_was_accepted_before_it() -> None:
    notes = [
        Note("invoke", 1, "a", 20),
        Note("ok", 2, "a"),
        Note("invoke", 3, "b", 20),
        Note("fail", 4, "b", error="full"),
        Note("durable", 5),
        Note("invoke", 6, "c", 20),
        Note("ok", 7, "c"),
    ]
    made = attempts_of("w", notes)
    assert [(a.uuid, a.accepted, a.durable) for a in made] == [("a", 2, 5), ("b", None, None), ("c", 7, None)]


def test_payloads_are_what_they_are_called() -> None:
    assert [len(payload_of("u", size)) for size in (1, 2, 50, 10_000)] == [1, 2, 50, 10_000]
    assert payload_of("u", 1) != payload_of("u", 1, "other")
    assert "\n" in payload_of("u", 50)
