"""The effective chain is a pure function of the events; compaction takes nothing away."""

from hypothesis import given
from hypothesis import strategies as st

from muniment.model.events import COMPACTION, SUMMARY, Event
from muniment.record.chain import Chain, Unanswered, effective, last_messages, unanswered


def said(uuid: str, type_: str = "user", **payload: object) -> Event:
    return Event(type_, uuid=uuid, payload=payload or {"text": uuid})


def boundary(head: str, tail: str, summary: str, **more: object) -> list[Event]:
    marks = {"headUuid": head, "anchorUuid": None, "tailUuid": tail, "summary_event_uuid": summary} | more
    return [said(summary, SUMMARY), Event(COMPACTION, uuid=f"b-{summary}", payload=marks)]


def ids(events: list[Event]) -> list[str]:
    return [event.uuid for event in events]


FIVE = [said(name) for name in "abcde"]


def test_a_compaction_shows_the_summary_in_place_of_the_span() -> None:
    assert ids(effective([*FIVE, *boundary("b", "d", "s")])) == ["a", "s", "e"]


def test_the_chain_before_any_compaction_can_still_be_shown() -> None:
    events = [*FIVE, *boundary("a", "c", "s1"), said("f"), *boundary("s1", "e", "s2"), said("g")]
    assert ids(effective(events)) == ["s2", "f", "g"]
    assert ids(effective(events, compactions=1)) == ["s1", "d", "e", "f", "g"]
    assert ids(effective(events, compactions=0)) == ["a", "b", "c", "d", "e", "f", "g"]


def test_a_later_compaction_may_name_what_an_earlier_one_took_out_of_sight() -> None:
    events = [*FIVE, *boundary("a", "c", "s1"), *boundary("b", "d", "s2")]
    assert ids(effective(events)) == ["s2", "e"]


def test_a_partial_marker_does_nothing() -> None:
    for marks in (
        {"headUuid": None},
        {"tailUuid": "nowhere"},
        {"summary_event_uuid": "never written"},
        {"headUuid": "d", "tailUuid": "b"},
    ):
        events = [*FIVE, *boundary("b", "d", "s", **marks)]
        assert ids(effective(events)) == ["a", "b", "c", "d", "e"]
    assert ids(effective([*FIVE, Event(COMPACTION, uuid="x", payload=None)])) == ["a", "b", "c", "d", "e"]
    assert ids(effective([*FIVE, said("s", SUMMARY)])) == ["a", "b", "c", "d", "e"]


def test_what_happens_around_the_conversation_is_not_part_of_it() -> None:
    assert ids(effective([said("h", "header"), *FIVE, said("c", "checkpoint"), said("t", "terminator")])) == list(
        "abcde"
    )


def test_calls_without_a_result_are_known() -> None:
    events = [
        said("1", "tool_call", id="a", name="bash", input={"command": "ls"}),
        said("2", "tool_call", id="b", name="bash", input={}),
        said("3", "tool_result", id="a", output="x"),
    ]
    assert [(call.id, call.uuid) for call in unanswered(events)] == [("b", "2")]


def test_calls_are_known_by_other_names_too() -> None:
    events = [
        said("1", "tool_call", call_id="a", tool="bash", args={"command": "ls"}),
        said("2", "tool_call", call_id="b", tool="bash", args={"command": "pwd"}),
        said("3", "tool_result", call_id="a", result="x"),
    ]
    assert unanswered(events) == [Unanswered("b", "bash", {"command": "pwd"}, "2")]
    assert ids(last_messages(events, 1)) == ["1", "2", "3"]


def test_a_fork_never_splits_a_call_from_its_result() -> None:
    chain = [
        said("p"),
        said("c1", "tool_call", id="1", name="bash", input=None),
        said("x", "assistant"),
        said("r1", "tool_result", id="1", output=""),
        said("q"),
    ]
    assert ids(last_messages(chain, 2)) == ["c1", "x", "r1", "q"]
    assert ids(last_messages(chain, 1)) == ["q"]
    assert ids(last_messages(chain, 50)) == ["p", "c1", "x", "r1", "q"]


@given(st.lists(st.tuples(st.sampled_from("mc"), st.integers(0, 8), st.integers(0, 8)), max_size=25))
def test_adding_one_by_one_is_the_same_as_all_at_once(script: list[tuple[str, int, int]]) -> None:
    events: list[Event] = []
    names: list[str] = []
    for number, (kind, first, last) in enumerate(script):
        if kind == "m" or not names:
            names.append(f"m{number}")
            events.append(said(names[-1]))
        else:
            head, tail = names[first % len(names)], names[last % len(names)]
            names.append(f"s{number}")
            events += boundary(head, tail, names[-1])
    chain = Chain()
    for event in events:
        chain.add(event)
    assert ids(chain.events) == ids(effective(events))
    assert len(set(ids(chain.events))) == len(chain.events)
    messages = [event.uuid for event in events if event.uuid.startswith("m")]
    assert ids(effective(events, 0)) == messages
    seen = [uuid for uuid in ids(chain.events) if uuid.startswith("m")]
    assert seen == [uuid for uuid in messages if uuid in set(seen)], "order is kept"
