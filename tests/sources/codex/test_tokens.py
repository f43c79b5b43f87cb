"""Tokens of Codex sessions: what reports tell, what only the running total tells, and whose they are."""

import json

from msgspec import structs

from muniment.model import Usage

from .rollouts import SESSION, event, facts_before, item, line, message, read, report
from .test_write import rewritten

HEAD = line("session_meta", {"id": SESSION, "cwd": "/w"})


def turn(words: str, *answers: bytes) -> list[bytes]:
    return [event("task_started"), message("user", words), event("user_message", message=words), *answers]


def joined(*records: bytes) -> bytes:
    return b"\n".join(records) + b"\n"


BROKEN = [message("assistant", "I beg"), event("turn_aborted", reason="interrupted")]
ANSWER = message("assistant", "Yes.")


def test_tokens_of_a_response_that_was_broken_off_are_those_of_the_running_total() -> None:
    data = joined(
        HEAD, *turn("one", ANSWER, report(100, 100)), *turn("two", *BROKEN), *turn("go", ANSWER, report(160, 40))
    )
    rounds = read(data)
    assert [round_.token_count for round_ in rounds] == [100, 0, 60]
    assert [m.usage for m in rounds[2].messages if m.usage] == [Usage(20), Usage(40)]
    assert facts_before(rounds)[-1].tokens == 160
    again = read(rewritten(data))
    assert [round_.token_count for round_ in again] == [100, 0, 60]


def test_a_response_broken_off_in_the_same_round_has_its_tokens_itself() -> None:
    steered = [message("user", "stop"), event("user_message", message="stop")]
    (round_,) = read(
        joined(
            HEAD,
            *turn("one", ANSWER, report(100, 100), message("assistant", "I beg"), *steered, ANSWER, report(160, 40)),
        )
    )
    assert [m.usage for m in round_.messages if m.role == "assistant"] == [Usage(100), Usage(20), Usage(40)]


def test_kinds_of_tokens_are_told_apart_in_what_is_missing() -> None:
    def counted(total: tuple[int, int, int], last: tuple[int, int, int]) -> bytes:
        names = ("input_tokens", "cached_input_tokens", "output_tokens")
        total_, last_ = (dict(zip(names, counts, strict=True)) for counts in (total, last))
        return event("token_count", info={"total_token_usage": total_, "last_token_usage": last_})

    first, second = counted((100, 60, 5), (100, 60, 5)), counted((400, 260, 12), (200, 150, 4))
    rounds = read(joined(HEAD, *turn("one", ANSWER, first), *turn("two", *BROKEN), *turn("go", ANSWER, second)))
    assert [m.usage for m in rounds[2].messages if m.usage] == [Usage(50, 3, 50), Usage(50, 4, 150)]


def test_the_total_of_a_fork_begins_with_the_tokens_of_another_session() -> None:
    repeated = report(1040, 40)
    data = joined(HEAD, *turn("one", ANSWER, repeated), *turn("two", repeated, ANSWER, report(1050, 10)))
    rounds = read(data)
    assert [round_.token_count for round_ in rounds] == [40, 10]
    assert facts_before(rounds)[1].counted == Usage(1040)


def test_a_total_that_begins_anew_leaves_nothing_missing() -> None:
    rounds = read(
        joined(
            HEAD,
            *turn("one", ANSWER, report(100, 100)),
            *turn("two", ANSWER, report(40, 40)),
            *turn("three", ANSWER, report(50, 10)),
        )
    )
    assert [round_.token_count for round_ in rounds] == [100, 40, 10]


def test_a_stream_that_tells_no_total_leaves_nothing_missing() -> None:
    def ended(tokens: int) -> bytes:
        return json.dumps({"type": "turn.completed", "usage": {"input_tokens": tokens}}).encode()

    begun = b'{"type":"thread.started","thread_id":"t"}'
    said = b'{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Done."}}'
    (round_,) = read(joined(begun, said, ended(10), said, ended(300)))
    assert round_.token_count == 310


def test_events_of_a_file_do_not_claim_to_be_our_note_on_the_total() -> None:
    (round_,) = read(
        joined(HEAD, *turn("one", ANSWER, event("running-total", input=7), item("running-total", input=7)))
    )
    assert facts_before([round_])[-1].counted == Usage()


def test_a_session_that_an_older_version_began_to_read_goes_on() -> None:
    """Its facts hold a sum and no running total: nothing is missing then, and nothing is counted twice."""
    told = report(100, 100)
    data = joined(HEAD, *turn("one", ANSWER, told), *turn("two", told, ANSWER, report(150, 50)))
    rounds = read(data)
    older = structs.replace(facts_before(rounds)[1], counted=Usage())
    assert [round_.token_count for round_ in read(data, older, rounds[1].offset)] == [50]
