"""The harness itself: equal is found equal, and what differs is found different."""

import json

import pytest

from .cases import block_kinds
from .claude import Claude
from .conftest import Recorded
from .history import conversation, difference
from .model_server import Turn, says
from .rules import refusals
from .told import Call, Words, told
from .wires import Json, text_block

only_parallel = pytest.mark.parametrize("recording", ["parallel_tools"], indirect=True)


def test_an_untouched_original_resumes_equally_twice(recorded: Recorded) -> None:
    again = recorded.claude.resume(recorded.session_id)
    assert difference(recorded.original, again) is None
    assert conversation(again) == conversation(recorded.original)
    assert again.session_id == recorded.session_id


@only_parallel
def test_a_conversation_holds_all_that_was_said_and_done(recorded: Recorded) -> None:
    kinds = [(block["role"], block["type"]) for block in conversation(recorded.original)]
    calls, results = [("assistant", "tool_use")] * 3, [("user", "tool_result")] * 3
    answer = [("assistant", "thinking"), ("assistant", "text"), *calls]
    assert kinds == [("user", "text"), *answer, *results, ("assistant", "text")]


@only_parallel
def test_a_dropped_tool_result_is_found(recorded: Recorded) -> None:
    drop_first_result(recorded.claude, recorded.session_id)
    damaged = recorded.claude.resume(recorded.session_id)
    assert difference(recorded.original, damaged)
    assert conversation(damaged) != conversation(recorded.original)


@only_parallel
def test_a_changed_word_is_found(recorded: Recorded) -> None:
    transcript = recorded.claude.transcript(recorded.session_id)
    transcript.write_bytes(transcript.read_bytes().replace(b"All ran.", b"All run."))
    changed = recorded.claude.resume(recorded.session_id)
    assert difference(recorded.original, changed)
    assert conversation(changed) != conversation(recorded.original)


@only_parallel
def test_a_refused_resume_is_an_error_and_not_an_empty_history(recorded: Recorded) -> None:
    recorded.claude.delete_session(recorded.session_id)
    refused = recorded.claude.resume(recorded.session_id)
    with pytest.raises(AssertionError, match="refused to resume"):
        difference(recorded.original, refused)


@only_parallel
@pytest.mark.parametrize(
    ("answer", "request_count"),
    [
        (says("slowly but surely", delay_s=0.05), 1),
        (Turn((text_block("cut off " * 200),), cut_after=4), 2),
    ],
    ids=["slow stream", "cut stream"],
)
def test_the_client_gets_over_a_bad_stream(recorded: Recorded, answer: Turn, request_count: int) -> None:
    run = recorded.claude.ask("try", answers=(answer, says("whole")))
    assert run.exit_code == 0
    assert len(run.requests) == request_count


class TestReadingRequests:
    """What is said of a request holds for requests that are known."""

    CALL = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}}
    RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a.txt"}]}

    def messages(self, *blocks: tuple[str, Json]) -> Json:
        return {"messages": [{"role": role, "content": [block]} for role, block in blocks]}

    def test_both_kinds_of_apis_tell_the_same(self) -> None:
        said = self.messages(("user", text_block("list")), ("assistant", self.CALL), ("user", self.RESULT))
        call = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'}
        output = {"type": "function_call_output", "call_id": "c1", "output": "a.txt"}
        prompt = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "list"}]}
        expected = [Words("user", "list"), Call("bash", '{"command": "ls"}', "a.txt")]
        assert told(said) == told({"input": [prompt, call, output]}) == expected

    def test_a_result_of_no_call_and_a_second_result_are_errors(self) -> None:
        with pytest.raises(AssertionError, match="no call"):
            told(self.messages(("user", self.RESULT)))
        with pytest.raises(AssertionError, match="second result"):
            told(self.messages(("assistant", self.CALL), ("user", self.RESULT), ("user", self.RESULT)))

    def test_what_a_service_would_refuse_is_found(self) -> None:
        prompt = ("user", text_block("list"))
        assert refusals(self.messages(prompt, ("assistant", self.CALL), ("user", self.RESULT))) == []
        assert refusals(self.messages(prompt, ("assistant", self.CALL)))
        assert refusals(self.messages(prompt, ("assistant", self.CALL), prompt, ("user", self.RESULT)))
        assert refusals(self.messages(prompt, ("assistant", {**self.CALL, "input": "ls"}), ("user", self.RESULT)))
        assert refusals({"input": [{"type": "function_call_output", "call_id": "c1", "output": ""}]})


def drop_first_result(claude: Claude, session_id: str) -> None:
    """Leave out the first tool result; its children hang on its parent."""
    records = claude.records(session_id)
    gone = next(record for record in records if "tool_result" in block_kinds(record))
    kept = [rehung(record, gone) for record in records if record is not gone]
    claude.transcript(session_id).write_text("".join(json.dumps(record) + "\n" for record in kept))


def rehung(record: Json, gone: Json) -> Json:
    return {**record, "parentUuid": gone["parentUuid"]} if record.get("parentUuid") == gone["uuid"] else record
