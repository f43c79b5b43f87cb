"""What holds for every session of pi, real or made up."""

from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.sources.base import CONVERSATION
from muniment.sources.pi import SOURCE

from .sessions import facts_before, header, lines, places, read, records_of, sessions, write
from .test_read import conversation

SAMPLE = conversation().data


@settings(max_examples=300)
@given(sessions)
def test_reading_may_begin_at_any_round(data: bytes) -> None:
    rounds = read(data)
    before = facts_before(rounds)
    for k in range(1, len(rounds)):
        assert read(data, before[k], rounds[k].offset) == rounds[k:]


@settings(max_examples=200)
@given(sessions)
def test_every_record_has_its_place_in_a_round(data: bytes) -> None:
    known = set[int]().union(*(places(round_) for round_ in read(data)))
    assert {record.offset for record in records_of(data)} <= known


@settings(max_examples=200)
@given(sessions, st.data())
def test_a_file_may_be_cut_anywhere(data: bytes, draw: st.DataObject) -> None:
    rounds = read(data[: draw.draw(st.integers(0, len(data)))])
    assert rounds[:-1] == read(data)[: len(rounds) - 1]


@settings(max_examples=200)
@given(st.integers(0, len(SAMPLE)), st.binary(max_size=6))
def test_any_bytes_may_be_hurt(at: int, put: bytes) -> None:
    rounds = read(SAMPLE[:at] + put + SAMPLE[at + 3 :])
    assert [round_.number for round_ in rounds] == list(range(1, len(rounds) + 1))
    write(rounds)


@settings(max_examples=200)
@given(sessions)
def test_a_written_session_is_a_tree_and_is_written_the_same_again(data: bytes) -> None:
    made, _ = write(read(data))
    known: set[str | None] = {None}
    for entry in made[1:]:
        assert entry["parentId"] in known
        known.add(entry["id"])
    assert write(read(lines(*made)))[0] == made


def test_a_result_behind_the_next_prompt_is_written_with_the_name_of_its_tool() -> None:
    def entry(id_: str, parent: str | None, **said: object) -> dict[str, object]:
        return {
            "type": "message",
            "id": id_,
            "parentId": parent,
            "timestamp": "2026-01-02T03:00:00.000Z",
            "message": said,
        }

    called = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
    made, _ = write(
        read(
            lines(
                header(),
                entry("a1", None, role="user", content="list"),
                entry("a2", "a1", role="assistant", content=[called]),
                entry("a3", "a2", role="user", content="and then?"),
                entry("a4", "a3", role="toolResult", toolCallId="c1", toolName="bash", content="a.txt"),
            )
        )
    )
    assert made[-1]["message"]["toolName"] == "bash"


def claimed(data: bytes) -> set[tuple[str, str]]:
    found = [claim for record in SOURCE.objects(records_of(data)) for claim in SOURCE.claims(record.raw)]
    return {(c.key, c.field) for c in found if c.field in CONVERSATION and c.field != "parent" and c.value is not None}


def test_a_written_session_claims_what_its_source_does() -> None:
    assert claimed(lines(*write(read(SAMPLE))[0])) == claimed(SAMPLE)
