"""Damaged, torn and hostile files: nothing raises, nothing vanishes, and every damage has its place."""

import functools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import check
from muniment.model import Facts, Problem, Round, Tool, Unknown, codec
from muniment.model.rounds import text_of
from muniment.sources.base import SourceFile
from muniment.sources.claude import SOURCE
from muniment.sources.lines import records
from muniment.store import document, escape, parse
from muniment.store import rounds as round_files

from .transcripts import FACTS, SESSION, Transcript, call, fold, output_of, read, say, tools


def problems(rounds: list[Round]) -> list[Problem]:
    return [problem for round_ in rounds for problem in round_.problems("file")]


def texts(rounds: list[Round]) -> list[str]:
    return [text_of(message) for round_ in rounds for message in round_.messages if text_of(message)]


def check_kept(rounds: list[Round]) -> None:
    """Rounds that were read can be stored, rendered and folded, and come back."""
    for round_ in rounds:
        assert round_files.decode(round_files.encode(round_)) == round_files.stripped(round_)
        body = escape.from_bytes(document.SEPARATOR.encode().join(document.render(round_.messages, "x")))
        assert list(parse.parse(body)) == [document.visible(m) for m in round_.messages if not m.silent]
    facts = fold(rounds)
    assert codec.decode(codec.encode(facts), Facts) == facts


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"\0" * 4096, "4096 NUL bytes"),
        (b'{"type":"user","message":{"role":"us', "not JSON: Unterminated string"),
        (b"garbage", "not JSON"),
        (b"\xff\xfe\xfd{", "not"),
        (b"[1,2]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"{}", "not a record of a known shape"),
        (b'{"type":5}', "not a record of a known shape"),
        (b'{"type":"user","message":"hi"}', "not a record of a known shape"),
        (b'{"type":"mode","x":NaN}', "NaN is not JSON"),
        (b'{"type":"attachment","attachment":1e999}', "out of range"),
        (b'{"type":"mode","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deep"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[:8].hex(),
)
def test_a_damaged_line_is_reported_with_its_place_and_hides_nothing_else(line: bytes, what: str) -> None:
    file = Transcript()
    file.user("before")
    at = file.raw(line)
    file.answer("m1", say("after"))
    rounds = file.rounds()
    (problem,) = problems(rounds)
    assert (problem.offset, problem.length) == (at, len(line))
    assert what in problem.what
    assert texts(rounds) == ["before", "after"]
    assert fold(rounds).problems == 1
    check_kept(rounds)


def test_what_is_whole_on_a_damaged_line_is_read() -> None:
    """A killed writer left half a record, another one wrote behind it; a crash of the machine left NULs."""
    asked, answered = Transcript(), Transcript()
    asked.user("and now this")
    answered.answer("m2", say("of course"))
    torn = b'{"parentUuid":null,"type":"user","message":{"role":"user","content":"half a sen'
    file = Transcript()
    file.user("before")
    at = file.raw(torn + asked.data[:-1] + answered.data[:-1] + bytes(7))
    rounds = file.rounds()
    assert texts(rounds) == ["before", "and now this", "of course"]
    behind = at + len(torn + asked.data[:-1] + answered.data[:-1])
    assert [(problem.offset, problem.length) for problem in problems(rounds)] == [(at, len(torn)), (behind, 7)]
    assert rounds[1].offset == at + len(torn)
    assert read(file.data, fold(rounds[:1]), rounds[1].offset, rounds[:1]) == rounds[1:]
    check_kept(rounds)


def test_an_answer_that_is_told_again_with_other_fields_is_said_once() -> None:
    """A session that goes on begins with the last record there was, written anew."""
    file = Transcript()
    file.user("before")
    at = "2026-01-02T03:04:05.000Z"
    uuid = file.answer("m1", say("of course"), output=3, timestamp=at)
    file.answer("m1", say("of course"), output=5, timestamp=at, uuid=uuid, parentUuid="r1", slug="a-name")
    file.user("after", parentUuid=uuid)
    rounds = file.rounds()
    assert texts(rounds) == ["before", "of course", "after"]
    assert rounds[0].token_count == 15
    place = SourceFile("x.jsonl", "x.jsonl", "main", len(file.data), 0)
    checked = check.check_transcript(SOURCE, FACTS, place, lambda: [file.data])
    assert (checked.lossless, checked.stable, checked.rehung) == (True, True, 0)


def test_a_record_that_was_read_stays_when_the_next_one_begins_on_its_line() -> None:
    file = Transcript()
    file.user("before")
    file.user("and now this")
    data = file.data[:-1]
    assert texts(read(data + b'{"type":"user","mess')) == texts(read(data)) == ["before", "and now this"]


def test_a_number_that_no_field_reads_is_no_damage() -> None:
    """A field that the reader skips may hold more than a float can."""
    file = Transcript()
    file.raw(b'{"type":"user","uuid":"a","message":{"role":"user","content":"hi"},"n":123456789012345678901234567890}')
    rounds = file.rounds()
    assert (texts(rounds), problems(rounds)) == (["hi"], [])


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_last_line_is_not_there_until_it_is_whole(cut: int) -> None:
    file = Transcript()
    file.user("before")
    whole = len(file.data)
    file.answer("m1", say("after"))
    assert read(file.data[: whole + cut]) == read(file.data[:whole])
    assert texts(read(file.data[:-1])) == ["before", "after"]


def test_a_line_that_was_torn_is_read_once_it_is_whole() -> None:
    file = Transcript()
    file.user("before")
    file.answer("m1", say("after"))
    torn = read(file.data[:-20])
    assert texts(read(file.data, FACTS, torn[0].offset)) == ["before", "after"]


@pytest.mark.parametrize(
    "value",
    [
        b'"\\ud83d"',
        b'"\\ude00\\ud83d"',
        b'"\\u0000"',
        b"123456789012345678901234567890",
        b"-1e308",
        b'{"a":1,"a":2}',
        b'{"\\ud83d":1}',
        b'"\xe2\x80\xa8\xc2\x85"',
        b"[" * 400 + b"]" * 400,
    ],
    ids=["high", "low high", "nul", "big", "float", "twice", "key", "breaks", "deep"],
)
def test_an_odd_value_comes_through_reading_and_storing(value: bytes) -> None:
    part = b'{"type":"tool_use","id":"t","name":"n","input":' + value + b"}"
    file = Transcript()
    file.raw(b'{"type":"assistant","uuid":"a","message":{"role":"assistant","id":"m","content":[' + part + b"]}}")
    rounds = file.rounds()
    assert [tool.input for tool in tools(rounds[0])] == [json.loads(value)]
    check_kept(rounds)


def test_a_value_nested_as_deep_as_can_be_read_can_be_stored_and_shown() -> None:
    """Reading refuses what is nested too deep; what it lets through must not be too deep for anything behind it."""
    for depth in range(920, 1000):
        part = b'{"type":"novel","value":' + b"[" * depth + b"]" * depth + b"}"
        line = b'{"type":"assistant","uuid":"a","message":{"role":"assistant","id":"m","content":[' + part + b"]}}"
        rounds = list(SOURCE.read(records([line + b"\n"]), FACTS))
        round_files.encode(rounds[0])
        list(document.render(rounds[0].messages, "x"))


def test_the_last_of_two_equal_keys_counts() -> None:
    file = Transcript()
    file.raw(b'{"type":"mode","type":"user","uuid":"a","message":{"role":"user","content":"a","content":"b"}}')
    assert texts(file.rounds()) == ["b"]


def test_a_byte_order_mark_and_carriage_returns_change_nothing() -> None:
    file = Transcript()
    file.user("hi")
    file.answer("m1", call("t1"))
    file.result("t1", "line\r\n")
    rounds = read(b"\xef\xbb\xbf" + file.data.replace(b"\n", b"\r\n"))
    assert (texts(rounds), problems(rounds)) == (["hi"], [])
    assert output_of(tools(rounds[0])[0]) == ["line\r\n"]


def test_blank_lines_are_no_damage() -> None:
    file = Transcript()
    for line in (b"", b"  ", b"\r"):
        file.raw(line)
    file.user("hi")
    assert problems(file.rounds()) == []


# -- fields that hold what they never should


@pytest.mark.parametrize(
    "odd",
    [
        {"version": 2},
        {"toolUseResult": True},
        {"timestamp": 1767323045000},
        {"parentUuid": 7, "isSidechain": "no", "cwd": ["/w"], "gitBranch": {}},
        {"message": {"role": "user", "content": {"type": "text", "text": "hello"}}},
        {"message": {"role": "user", "content": "hello", "id": 5, "usage": "much", "stop_reason": []}},
    ],
    ids=lambda odd: " ".join(odd),
)
@pytest.mark.parametrize("type_", ["user", "assistant"])
def test_a_field_of_another_type_than_usual_costs_itself_and_no_words(type_: str, odd: dict[str, Any]) -> None:
    file = Transcript()
    file.user("before")
    file.chain(type_, **({"message": {"role": type_, "content": [say("hello")]}} | odd))
    rounds = file.rounds()
    assert (texts(rounds), problems(rounds)) == (["before", "hello"], [])
    check_kept(rounds)
    place = SourceFile("x.jsonl", "x.jsonl", "main", len(file.data), 0)
    checked = check.check_transcript(SOURCE, FACTS, place, lambda: [file.data])
    assert checked.lossless, checked
    assert checked.document["text"].equal == 2


def test_content_of_another_type_than_usual_is_kept_as_it_came() -> None:
    file = Transcript()
    file.user(5)
    rounds = file.rounds()
    assert [block.value for block in rounds[0].blocks() if isinstance(block, Unknown)] == [5]
    assert problems(rounds) == []


def test_a_message_that_says_nothing_to_people_may_be_anything() -> None:
    file = Transcript()
    file.meta("progress", message="hi")
    assert problems(file.rounds()) == []


@pytest.mark.parametrize("content", [5, True, {"type": "text"}, "words", [None, "a", [], {"type": "thinking"}]])
def test_the_content_of_a_result_may_be_anything(content: Any) -> None:
    file = Transcript()
    file.answer("m1", call("t1"))
    file.result("t1", content)
    rounds = file.rounds()
    assert tools(rounds[0])[0].output is not None
    check_kept(rounds)


def test_thinking_inside_a_result_is_kept_as_it_came() -> None:
    """A result holds texts, media and pieces that are not understood; nothing else fits there."""
    part = {"type": "thinking", "thinking": "hm", "signature": "s"}
    file = Transcript()
    file.result("t1", [part])
    rounds = file.rounds()
    assert tools(rounds[0])[0].output == (Unknown(kind="thinking", value=part),)
    check_kept(rounds)


@pytest.mark.parametrize("signature", [5, {"a": 1}, ["s"]])
def test_a_signature_that_is_no_text_can_be_stored(signature: Any) -> None:
    file = Transcript()
    file.answer("m1", {"type": "thinking", "thinking": "hm", "signature": signature})
    check_kept(file.rounds())


def test_a_count_of_tokens_that_is_no_number_counts_nothing() -> None:
    file = Transcript()
    file.chain("assistant", message={"id": "m", "content": [], "usage": {"input_tokens": True, "output_tokens": "9"}})
    rounds = file.rounds()
    assert rounds[0].token_count == 0
    check_kept(rounds)


def test_an_image_of_an_odd_media_type_comes_back_from_the_document() -> None:
    source = {"type": "base64", "media_type": "image/png; a=b", "data": "iVBORw=="}
    file = Transcript()
    file.user([{"type": "image", "source": source}])
    check_kept(file.rounds())


@pytest.mark.parametrize("record", [5, {"a": 1}, ["s"]])
def test_a_fork_from_a_record_that_is_no_text_can_be_stored(record: Any) -> None:
    file = Transcript()
    file.user("go", forkedFrom={"sessionId": "x", "messageUuid": record})
    check_kept(file.rounds())


any_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.text(max_size=3)
    | st.sampled_from(["text", "user", "thinking", "tool_result", "\ud83d", 10**30]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "text", "x"]), inner),
    max_leaves=4,
)


def everything() -> Transcript:
    """A record of every kind."""
    file = Transcript()
    file.meta("summary", summary="s", leafUuid="l")
    file.user("go", forkedFrom={"sessionId": "x", "messageUuid": "y"}, session_id="z", gitBranch="main")
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    file.user([say("look"), {"type": "image", "source": source}])
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    file.answer("m1", thought, call("t1", command="ls"), output=3, requestId="r")
    file.result("t1", [say("a"), {"type": "image", "source": source}], toolUseResult={"agentId": "a"})
    file.attach("queued_command", prompt="and", commandMode="prompt", origin={"kind": "human"})
    file.chain("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"}, logicalParentUuid="r1")
    file.user("summary", isCompactSummary=True)
    file.chain("system", subtype="api_error", error={"message": "no"})
    file.user("sub", isSidechain=True, agentId="a")
    file.meta("custom-title", customTitle="t", sessionId=SESSION)
    file.meta("last-prompt", leafUuid="r1", explicit=True)
    file.meta("queue-operation", operation="enqueue", content="c")
    file.meta("agent-name", agentName="n")
    return file


def paths(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, deeper in inner:
        yield (*here, name)
        yield from paths(deeper, (*here, name))


RECORDS = [json.loads(line) for line in everything().lines]
PLACES = [(number, *path) for number, record in enumerate(RECORDS) for path in paths(record)]


@settings(max_examples=600)
@given(st.sampled_from(PLACES), any_json)
def test_any_field_may_hold_anything(place: tuple[Any, ...], value: Any) -> None:
    changed = json.loads(json.dumps(RECORDS))
    holder = functools.reduce(lambda inner, name: inner[name], place[:-1], changed)
    holder[place[-1]] = value
    check_kept(read(b"".join(json.dumps(record).encode() + b"\n" for record in changed)))


@settings(max_examples=100)
@given(st.data())
def test_any_bytes_may_be_hurt(data: st.DataObject) -> None:
    whole = everything().data
    at = data.draw(st.integers(0, len(whole)))
    check_kept(read(whole[:at] + data.draw(st.binary(max_size=4)) + whole[at + 2 :]))


def test_a_session_may_hold_every_kind_of_record() -> None:
    rounds = everything().rounds()
    assert [len(round_.messages) for round_ in rounds] == [1, 4]
    assert [tool.sidechain for tool in rounds[1].blocks() if isinstance(tool, Tool)] == ["a"]
    assert problems(rounds) == []
    check_kept(rounds)
