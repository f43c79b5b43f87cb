"""Generic JSON of the model APIs: read whatever its shape, and never taken from another source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import check
from muniment.archive import Archive
from muniment.model import Event, Facts, Round, Text, Thinking, Tool, Unknown
from muniment.model.rounds import Usage, text_of
from muniment.sources import find_in, named, recognise
from muniment.sources.base import HEAD_BYTES, bytes_of
from muniment.sources.lines import records
from muniment.sources.messages import find, told

ENV = {"HOME": "/nowhere"}
USER = {"role": "user", "content": "hello"}
ANSWER = {"role": "assistant", "content": "good day"}


def rounds(*values: Any, indent: int | None = None) -> list[Round]:
    source = named("messages")
    data = "\n".join(json.dumps(value, indent=indent) for value in values).encode()
    return list(source.read(records(source.open("x.json", [data])), Facts("x", "messages")))


def said(found: list[Round]) -> list[tuple[str, str]]:
    return [(m.role, text_of(m)) for round_ in found for m in round_.messages if text_of(m)]


def tools(found: list[Round]) -> list[Tool]:
    return [block for round_ in found for block in round_.blocks() if isinstance(block, Tool)]


SHAPES: dict[str, list[Any]] = {
    "document": [{"model": "x", "messages": [USER, ANSWER]}],
    "array": [[USER, ANSWER]],
    "lines": [USER, ANSWER],
    "responses": [{"model": "x", "input": [USER | {"type": "message"}, ANSWER | {"type": "message"}]}],
    "string input": [{"model": "x", "input": "hello", "output": [ANSWER | {"type": "message", "id": "m"}]}],
    "completion": [{"request": {"messages": [USER]}, "response": {"id": "c", "choices": [{"message": ANSWER}]}}],
    "anthropic": [{"request": {"messages": [USER]}, "response": ANSWER | {"id": "m", "type": "message", "model": "x"}}],
    "choices beside messages": [{"messages": [USER], "choices": [{"message": ANSWER}]}],
    "output beside messages": [{"model": "x", "messages": [USER], "output": [ANSWER]}],
    "response beside messages": [{"model": "x", "messages": [USER], "response": [ANSWER]}],
    "a string as response": [{"model": "x", "messages": [USER], "response": "good day"}],
    "a string as output": [{"messages": [USER], "output": "good day", "usage": {"total_tokens": 3}}],
    "a string as completion": [{"messages": [USER], "completion": "good day"}],
    "a string beside a request": [{"request": {"messages": [USER]}, "response": "good day"}],
    "a string beside input": [{"input": [USER], "output": "good day"}],
    "an answer that is said twice": [{"messages": [USER, ANSWER], "response": "good day"}],
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_says_the_same(shape: str, indent: int | None, tmp_path: Path) -> None:
    assert said(rounds(*SHAPES[shape], indent=indent)) == [("user", "hello"), ("assistant", "good day")]
    path = tmp_path / "x.json"
    path.write_text("\n".join(json.dumps(value, indent=indent) for value in SHAPES[shape]))
    assert (source := recognise(path))
    assert source.name == "messages"
    assert all(checked.lossless for session in find_in(path, ENV) for checked in check.check_found(session))


@pytest.mark.parametrize(
    "odd",
    [{"request": "say it"}, {"response": 7}, {"output": {"text": "good day"}}, {"choices": [{"text": "good day"}]}],
)
def test_an_answer_of_no_known_shape_is_kept(odd: dict[str, Any]) -> None:
    for asked in ({"messages": [USER]}, {"input": [USER]}):
        kept = [block.detail for block in rounds(asked | odd)[0].blocks() if isinstance(block, Event)]
        assert kept == [odd]


def test_what_stands_in_place_of_a_request_is_kept() -> None:
    (round_,) = rounds({"request": "say it", "response": {"choices": [{"message": ANSWER}]}})
    assert [block.detail for block in round_.blocks() if isinstance(block, Event)] == [{"request": "say it"}]


def test_a_log_that_repeats_itself_is_said_once() -> None:
    more = {"role": "user", "content": "and you?"}
    log = [
        {"request": {"model": "x", "messages": [USER]}, "response": ANSWER | {"id": "m1", "model": "x"}},
        {"request": {"model": "x", "messages": [USER, ANSWER, more]}, "response": ANSWER | {"id": "m2", "model": "x"}},
    ]
    found = rounds(*log)
    assert said(found) == [
        ("user", "hello"),
        ("assistant", "good day"),
        ("user", "and you?"),
        ("assistant", "good day"),
    ]
    assert len(found) == 2


CALL = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": [1]}}
GIVEN = {"type": "tool_result", "tool_use_id": "t", "content": "out"}
ASKED = {"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TRIFLES: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "a string against a text": ([{"type": "text", "text": "good day"}], {"content": "good day"}),
    "an output text": ([{"type": "output_text", "text": "good day", "annotations": []}], {"content": "good day"}),
    "a mark for the cache": (
        [{"type": "text", "text": "a"}, CALL],
        {"content": [{"text": "a", "type": "text", "cache_control": {"type": "ephemeral"}}, CALL]},
    ),
    "citations, caller, index": (
        [{"type": "text", "text": "a", "citations": None}, CALL | {"caller": {"type": "direct"}, "index": 1}],
        {"content": [{"type": "text", "text": "a"}, CALL]},
    ),
    "a result": (
        [CALL, GIVEN],
        {"content": [CALL, GIVEN | {"content": [{"type": "text", "text": "out"}], "cache_control": {}}]},
    ),
    "nothing against null": ([], {"content": None, "tool_calls": []}),
    "nothing against an empty text": ([], {"content": ""}),
}


@pytest.mark.parametrize("by", TRIFLES)
def test_a_message_that_is_sent_again_may_differ_in_trifles(by: str) -> None:
    first, again = TRIFLES[by]
    more = {"role": "user", "content": "and you?"}
    log = [
        {"request": {"messages": [USER]}, "response": {"role": "assistant", "content": first}},
        {"request": {"messages": [USER, {"role": "assistant", **again}, more]}, "response": ANSWER},
    ]
    assert [message.role for round_ in rounds(*log) for message in round_.messages] == ["user", "assistant"] * 2


def test_calls_beside_no_content_may_be_sent_again_without_one() -> None:
    called = {"role": "assistant", "content": None, "tool_calls": [ASKED | {"index": 0}]}
    given = {"role": "tool", "tool_call_id": "t", "content": "out"}
    again = {"role": "assistant", "tool_calls": [ASKED]}
    found = rounds(
        {"request": {"messages": [USER]}, "response": {"choices": [{"message": called}]}},
        {"request": {"messages": [USER, again, given]}, "response": {"choices": [{"message": ANSWER}]}},
    )
    assert len(tools(found)) == 1
    assert said(found) == [("user", "hello"), ("assistant", "good day")]


@pytest.mark.parametrize(
    "other",
    [
        {"content": "good night"},
        {"content": [{"type": "text", "text": "good"}, {"type": "text", "text": "day"}]},
        {"content": [CALL | {"input": {"a": 1}}]},
        {"content": None, "tool_calls": [ASKED]},
        {"content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"content": "half \ud83d"},
    ],
)
def test_a_message_that_says_something_else_is_another(other: dict[str, Any]) -> None:
    log = [
        {"messages": [USER, answer]} for answer in (ANSWER, ANSWER | {"content": [CALL]}, ANSWER | {"content": None})
    ]
    (round_,) = rounds(*log, {"messages": [USER, {"role": "assistant", **other}]})
    assert len([message for message in round_.messages if message.role == "assistant"]) == 4


def test_a_log_of_other_conversations_is_said_whole() -> None:
    log = [{"messages": [USER, ANSWER]}, {"messages": [{"role": "user", "content": "bye"}, ANSWER]}]
    assert [words for _, words in said(rounds(*log))] == ["hello", "good day", "bye", "good day"]


def exchange(said: list[Any], answer: str, **about: Any) -> dict[str, Any]:
    return {"request": {"messages": said} | about, "response": {"role": "assistant", "content": answer}}


def spoken(*texts: str) -> list[Any]:
    return [{"role": ("user", "assistant")[turn % 2], "content": text} for turn, text in enumerate(texts)]


SIDE: dict[str, list[Any]] = {
    "a title": [exchange(spoken("name this: hello"), "Greetings")],
    "one that begins alike": [exchange(spoken("hello", "good day", "what may I ask next?"), "my name")],
    "a helper": [
        exchange(spoken("count the lamps"), "one"),
        exchange(spoken("count the lamps", "one", "again"), "two"),
    ],
    "several": [exchange(spoken(f"name {number}"), f"n{number}") for number in range(5)],
}


@pytest.mark.parametrize("by", SIDE)
def test_a_side_request_makes_nothing_be_said_again(by: str) -> None:
    begun, more = spoken("hello", "good day"), spoken("hello", "good day", "and you?", "fine", "bye")
    found = rounds(
        exchange(begun[:1], "good day"), *SIDE[by], exchange(more[:3], "fine"), *SIDE[by][:1], exchange(more, "bye bye")
    )
    told = [words for _, words in said(found)]
    assert [words for words in told if words in ("hello", "good day", "and you?", "fine", "bye", "bye bye")] == [
        "hello", "good day", "and you?", "fine", "bye", "bye bye",
    ]  # fmt: skip
    assert len(told) == len(set(told)) + 2  # the side request that came twice, and its answer


def test_what_is_asked_again_after_something_else_stands_before_its_answer() -> None:
    one, two = spoken("one?"), spoken("two?")
    log = [exchange(one, "1"), exchange(two, "2"), exchange(one, "I"), exchange(one, "eins"), exchange(two, "II")]
    told = [words for _, words in said(rounds(*log))]
    assert told == ["one?", "1", "two?", "2", "one?", "I", "eins", "two?", "II"]


def test_what_a_request_has_beside_its_messages_is_said_once_for_each_conversation() -> None:
    more = spoken("hello", "good day", "and you?")
    side = exchange(spoken("name this"), "Greetings", system="Name it.")
    found = rounds(exchange(more[:1], "good day", system="Be brief."), side, exchange(more, "fine", system="Be brief."))
    prompts = [b.detail for r in found for b in r.blocks() if isinstance(b, Event) and b.kind == "system prompt"]
    assert prompts == ["Be brief.", "Name it."]


def times(*values: Any) -> list[str | None]:
    return [message.at for round_ in rounds(*values) for message in round_.messages if text_of(message)]


BEGUN, LATER = "2026-01-01T00:00:00Z", "2026-01-01T09:00:00Z"
SYSTEM = {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize("name", ["created_at", "createdAt", "created"])
def test_a_document_tells_when_it_was_begun(name: str) -> None:
    said = [SYSTEM, USER, ANSWER, USER]
    assert times({name: BEGUN, "messages": said}) == [BEGUN, None, None]
    assert times({name: BEGUN, "messages": said[1:3]}, {name: BEGUN, "messages": said[1:]}) == [BEGUN, None, None]
    dated = [message | {"created_at": LATER} for message in said[1:3]]
    assert times({name: BEGUN, "messages": dated}) == [LATER, LATER]
    (round_, _) = rounds({name: BEGUN, "messages": said})
    assert round_.started == BEGUN


def test_an_exchange_tells_when_it_took_place() -> None:
    assert times({"created": BEGUN, "messages": [USER], "choices": [{"message": ANSWER}]}) == [BEGUN, BEGUN]
    assert times({"timestamp": BEGUN, "messages": [USER, ANSWER]}) == [BEGUN, BEGUN]
    assert times({"created_at": BEGUN, "request": {"messages": [USER]}, "response": ANSWER}) == [BEGUN, BEGUN]


@pytest.mark.parametrize(("title", "known"), [("Greetings", "Greetings"), (["Greetings"], None), ("", None)])
def test_a_document_may_have_a_title(title: Any, known: str | None, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"title": title, "messages": [USER, ANSWER]}))
    facts = Facts("x", "messages")
    for round_ in rounds(json.loads(path.read_text())):
        facts = facts.after(round_)
    assert (facts.title, facts.title_by) == (known, "ai" if known else "")
    assert all(checked.lossless for session in find_in(path, ENV) for checked in check.check_found(session))


def test_calls_and_results_meet_in_all_three_apis() -> None:
    anthropic = rounds(
        USER,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "out", "is_error": True}]},
    )
    call = {"id": "t", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    chat = rounds(
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t", "content": "out"},
    )
    responses = rounds(
        {
            "input": [
                USER,
                {"type": "function_call", "id": "fc", "call_id": "t", "name": "f", "arguments": '{"a": 1}'},
                {"type": "function_call_output", "call_id": "t", "output": "out"},
            ]
        }
    )
    for found in (anthropic, chat, responses):
        (tool,) = tools(found)
        assert (tool.id, tool.name, tool.input, tool.output) == ("t", "f", {"a": 1}, (Text("out"),))
        assert len(found) == 1
    assert tools(anthropic)[0].is_error is True


CALL_PART = {"type": "tool_call", "tool_call_id": "c1", "name": "ls", "arguments": '{"path":"."}'}
CALL_BESIDE = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}


@pytest.mark.parametrize(
    "asked",
    [
        {"content": [CALL_PART]},
        {"content": [CALL_PART], "tool_calls": [CALL_BESIDE]},
        {"content": [{"type": "tool_call", "id": "c1", "name": "ls", "args": {"path": "."}}]},
    ],
    ids=["a part", "a part that is told twice", "a part with an object"],
)
def test_a_call_may_be_a_part_and_is_said_once(asked: dict[str, Any], tmp_path: Path) -> None:
    """As programs write trajectories that turn the sessions of several agents into one form."""
    given = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "tool_output", "text": "a.txt"}]}
    found = rounds({"messages": [USER, {"role": "assistant"} | asked, given, ANSWER]})
    (tool,) = tools(found)
    assert (tool.id, tool.name, tool.input, tool.output) == ("c1", "ls", {"path": "."}, (Text("a.txt"),))
    assert not [block for round_ in found for block in round_.blocks() if isinstance(block, Unknown)]
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps({"messages": [USER, {"role": "assistant"} | asked, given, ANSWER]}))
    (checked,) = [one for session in find_in(path, ENV) for one in check.check_found(session)]
    assert checked.lossless
    assert [checked.document[field].equal for field in ("tool input", "tool output")] == [1, 1]


@pytest.mark.parametrize("name", ["_metadata", "metadata"])
def test_the_time_of_a_message_may_stand_beside_it(name: str) -> None:
    first, second = "2026-03-24T16:26:22.708Z", "2026-03-24T16:26:46.889Z"
    said_at = [USER | {name: {"timestamp": first}}, ANSWER | {name: {"timestamp": second}}]
    assert times({"messages": said_at}) == [first, second]
    assert times({"messages": [USER | {name: {"timestamp": [1]}}, ANSWER | {name: "x"}]}) == [None, None]


def test_arguments_that_are_no_json_stay_as_they_are() -> None:
    call = {"id": "t", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    (tool,) = tools(rounds(USER, {"role": "assistant", "content": None, "tool_calls": [call]}))
    assert tool.input == '{"a": '


def test_reasoning_refusals_and_what_is_unknown_are_kept() -> None:
    content = [
        {"type": "redacted_thinking", "data": "sealed"},
        {"type": "refusal", "refusal": "no"},
        {"type": "hologram", "depth": 3},
    ]
    (round_,) = rounds(USER, {"role": "assistant", "reasoning_content": "hm", "content": content})
    kinds = {type(block): block for block in round_.messages[1].blocks}
    assert isinstance(kinds[Unknown], Unknown)
    assert kinds[Unknown].value == {"type": "hologram", "depth": 3}
    thoughts = [block for block in round_.messages[1].blocks if isinstance(block, Thinking)]
    assert [(t.text, t.signature, t.redacted) for t in thoughts] == [("hm", None, False), ("", "sealed", True)]
    assert [
        getattr(block, "text", "") for block in round_.messages[1].blocks if getattr(block, "kind", "") == "refusal"
    ] == ["no"]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 5}, Usage(10, 2, 5)),
        ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(6, 2, 4)),
        ({"input_tokens": 10, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}, Usage(6, 2, 4)),
        (None, None),
    ],
)
def test_tokens_are_counted_in_one_way(usage: Any, counted: Usage | None) -> None:
    assert told.usage_of(usage) == counted


THOUGHT = [{"type": "thinking", "thinking": "count ", "signature": "s1"}, {"type": "thinking", "thinking": "again"}]
DETAILS = [
    {"type": "reasoning.text", "text": "count again", "signature": "s1", "index": 0},
    {"type": "reasoning.summary", "summary": "counted"},
    {"type": "reasoning.encrypted", "data": "sealed"},
    {"type": "reasoning.dream", "sheep": 3},
]
ADDED: dict[str, dict[str, Any]] = {
    "LiteLLM": {"provider_specific_fields": {"refusal": None}, "thinking_blocks": THOUGHT, "function_call": None},
    "OpenRouter": {"reasoning": "think", "reasoning_details": DETAILS},
    "Anthropic": {"container": None, "context_management": None},
    "Vercel": {"createdAt": "2026-01-01T00:00:00Z"},
    "anybody": {"tokens": 12, "mood": {"calm": True}},
}


@pytest.mark.parametrize("long", [False, True], ids=["short", "longer than its head"])
@pytest.mark.parametrize("form", [lambda said: [said], lambda said: said, lambda said: [{"messages": said}]])
@pytest.mark.parametrize("by", ADDED)
def test_fields_that_a_provider_adds_are_no_hindrance(by: str, form: Any, long: bool, tmp_path: Path) -> None:
    said = [USER | ADDED[by], ANSWER | {"content": "y" * HEAD_BYTES * long + "yes"} | ADDED[by]]
    path = tmp_path / "x.json"
    path.write_text("\n".join(json.dumps(value) for value in form(said)))
    assert (source := recognise(path))
    assert source.name == "messages"
    (session,) = find_in(path, ENV)
    assert all(checked.lossless for checked in check.check_found(session))


def thoughts(**more: Any) -> list[tuple[str, str | None]]:
    (round_,) = rounds(USER, ANSWER | more)
    return [(block.text, block.signature) for block in round_.blocks() if isinstance(block, Thinking)]


def test_reasoning_is_said_once_and_keeps_its_signature() -> None:
    signed = [("count ", "s1"), ("again", None)]
    assert thoughts(thinking_blocks=THOUGHT) == signed
    assert thoughts(reasoning_content="count\nagain", thinking_blocks=THOUGHT) == signed
    assert thoughts(reasoning_content="other words", thinking_blocks=THOUGHT) == [("other words", None), *signed]
    assert thoughts(reasoning="hm", reasoning_details=None, thinking_blocks=[]) == [("hm", None)]
    told = [("count again", "s1"), ("counted", None), ("", "sealed")]
    assert thoughts(reasoning="count againcounted", reasoning_details=DETAILS) == told
    (round_,) = rounds(USER, ANSWER | {"reasoning_details": DETAILS})
    assert [block.value for block in round_.blocks() if isinstance(block, Unknown)] == DETAILS[3:]


# -- what `claude -p` prints

STREAM = "0e000000-0000-4000-8000-000000000002"


def streamed(kind: str, *content: Any, **more: Any) -> dict[str, Any]:
    about = (
        {"id": "msg_1", "model": "m", "usage": {"input_tokens": 3, "output_tokens": 2}} if kind == "assistant" else {}
    )
    message = {"role": kind, "content": list(content)} | about
    return {"type": kind, "message": message, "parent_tool_use_id": None, "session_id": STREAM} | more


def words(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


PRINTED: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "session_id": STREAM, "tools": ["Bash"], "cwd": "/w"},
    streamed("assistant", words("I look.")),
    streamed("assistant", {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "count"}}),
    streamed("user", words("count"), parent_tool_use_id="t1"),
    streamed("assistant", words("three"), parent_tool_use_id="t1"),
    streamed("user", {"type": "tool_result", "tool_use_id": "t1", "content": "three", "is_error": False}),
    streamed("assistant", words("There are three.")) | {"timestamp": "2026-01-01T00:00:00Z"},
    {"type": "result", "subtype": "success", "is_error": False, "result": "There are three.", "session_id": STREAM},
]


def test_a_stream_is_read_as_the_messages_in_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in PRINTED))
    (session,) = find_in(path, ENV)
    assert (session.source, session.native_id) == ("messages", f"stream of {STREAM}")
    assert session.session_id != STREAM
    (round_,) = rounds(*PRINTED)
    assert [(m.role, text_of(m), m.sidechain) for m in round_.messages if text_of(m)] == [
        ("assistant", "I look.", None),
        ("user", "count", "t1"),
        ("assistant", "three", "t1"),
        ("assistant", "There are three.", None),
    ]
    assert [tool.output for tool in tools([round_])] == [(Text("three"),)]
    assert (round_.token_count, round_.messages[-1].at) == (5, "2026-01-01T00:00:00Z")
    assert not [block for block in round_.blocks() if isinstance(block, Unknown)]
    shown = [block for block in round_.blocks() if isinstance(block, Event) and block.text]
    assert not shown
    assert all(checked.lossless for checked in check.check_found(session))


def test_a_stream_that_failed_says_so(tmp_path: Path) -> None:
    failed = {"type": "result", "subtype": "error_during_execution", "is_error": True, "session_id": STREAM}
    for result, shown in (({"result": "no credit"}, "no credit"), ({}, "error_during_execution")):
        (round_,) = rounds(*PRINTED[:2], failed | result)
        assert [b.text for b in round_.blocks() if isinstance(b, Event) and b.text] == [shown]
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in (*PRINTED[:2], failed | {"result": "no credit"})))
    assert all(checked.lossless for session in find_in(path, ENV) for checked in check.check_found(session))


def test_a_request_that_has_a_session_is_no_stream(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"request": {"session_id": STREAM, "messages": [USER]}, "response": ANSWER}))
    assert not find.native_id([path.read_bytes()]).startswith("stream")


# -- what other agents print

AT = "2026-01-01T00:00:0{}Z"


def shown(found: list[Round]) -> list[Any]:
    """What was said and done, and how it ended."""
    told: list[Any] = []
    for block in (block for round_ in found for block in round_.blocks()):
        match block:
            case Thinking(text) | Text(text):
                told.append(text)
            case Tool():
                output = "".join(part.text for part in block.output or () if isinstance(part, Text))
                told.append((block.name, block.input, output, block.is_error))
            case Event() if block.text:
                told.append((block.kind, block.text))
            case _:
                assert isinstance(block, Event), block
    return told


GEMINI = [
    {"type": "init", "timestamp": AT.format(0), "session_id": STREAM, "model": "g"},
    {"type": "message", "timestamp": AT.format(1), "role": "user", "content": "hello"},
    {"type": "message", "timestamp": AT.format(2), "role": "assistant", "content": "I ", "delta": True},
    {"type": "message", "timestamp": AT.format(3), "role": "assistant", "content": "look.", "delta": True},
    {"type": "tool_use", "timestamp": AT.format(4), "tool_name": "ls", "tool_id": "t1", "parameters": {"path": "."}},
    {"type": "tool_use", "timestamp": AT.format(4), "tool_name": "cat", "tool_id": "t2", "parameters": {}},
    {"type": "tool_result", "timestamp": AT.format(5), "tool_id": "t1", "status": "success", "output": "a.txt"},
    {"type": "tool_result", "timestamp": AT.format(5), "tool_id": "t2", "status": "error", "error": {"message": "no"}},
    {"type": "error", "timestamp": AT.format(6), "severity": "warning", "message": "Loop detected"},
    {"type": "message", "timestamp": AT.format(7), "role": "assistant", "content": "One.", "delta": True},
    {"type": "result", "timestamp": AT.format(8), "status": "success", "stats": {
        "total_tokens": 9, "input_tokens": 6, "output_tokens": 3, "cached": 2}},
]  # fmt: skip

PART = {"sessionID": "ses_1", "messageID": "msg_1"}
OTHER = PART | {"messageID": "m2", "text": "One."}
BROKEN = {"name": "E", "data": {"message": "x"}}
OPENCODE = [
    {"type": "step_start", "timestamp": 1790118240000, "sessionID": "ses_1", "part": PART | {"type": "step-start"}},
    {"type": "reasoning", "timestamp": 1790118241000, "sessionID": "ses_1", "part": PART | {"text": "Hm."}},
    {"type": "text", "timestamp": 1790118242000, "sessionID": "ses_1", "part": PART | {"text": "I look."}},
    {"type": "tool_use", "timestamp": 1790118243000, "sessionID": "ses_1", "part": PART | {"tool": "ls", "callID": "c",
        "state": {"status": "completed", "input": {"path": "."}, "output": "a.txt"}}},
    {"type": "tool_use", "timestamp": 1790118243000, "sessionID": "ses_1", "part": PART | {"tool": "cat", "callID": "d",
        "state": {"status": "error", "input": {}, "error": "no"}}},
    {"type": "step_finish", "timestamp": 1790118244000, "sessionID": "ses_1", "part": PART | {
        "tokens": {"input": 4, "output": 3, "cache": {"read": 2, "write": 0}}}},
    {"type": "text", "timestamp": 1790118245000, "sessionID": "ses_1", "part": OTHER},
    {"type": "error", "timestamp": 1790118246000, "sessionID": "ses_1", "error": BROKEN},
]  # fmt: skip


def of_cursor(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "session_id": STREAM} | more


def asked_cursor(call_id: str, subtype: str, name: str, **result: Any) -> dict[str, Any]:
    told = {"args": {"path": "."}} | result
    return of_cursor("tool_call", subtype=subtype, call_id=call_id, tool_call={name: told})


CURSOR = [
    of_cursor("system", subtype="init", cwd="/w", model="c"),
    of_cursor("user", message={"role": "user", "content": [words("hello")]}),
    of_cursor("thinking", subtype="delta", text="H", timestamp_ms=1790118240000),
    of_cursor("thinking", subtype="delta", text="m.", timestamp_ms=1790118240500),
    of_cursor("thinking", subtype="completed", timestamp_ms=1790118240600),
    of_cursor("assistant", message={"role": "assistant", "content": [words("I ")]}, timestamp_ms=1790118241000),
    of_cursor("assistant", message={"role": "assistant", "content": [words("look.")]}, timestamp_ms=1790118242000),
    of_cursor("assistant", message={"role": "assistant", "content": [words("I look.")]}),
    asked_cursor("t1", "started", "lsToolCall"),
    asked_cursor("t1", "completed", "lsToolCall", result={"success": {"content": "a.txt"}}),
    asked_cursor("t2", "completed", "readToolCall", result={"error": {"errorMessage": "no"}}),
    of_cursor("assistant", message={"role": "assistant", "content": [words("One.")]}),
    of_cursor("result", subtype="success", is_error=False, result="I look.One."),
]


def printed(lines: list[dict[str, Any]], tmp_path: Path) -> list[Round]:
    """The rounds of a stream, which is one session and loses nothing."""
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (session,) = find_in(path, ENV)
    assert (session.source, (session.native_id or "")[:10]) == ("messages", "stream of ")
    assert all(checked.lossless for checked in check.check_found(session))
    return rounds(*lines)


def test_what_gemini_prints_is_read(tmp_path: Path) -> None:
    (round_,) = printed(GEMINI, tmp_path)
    calls = [("ls", {"path": "."}, "a.txt", False), ("cat", {}, "no", True)]
    assert shown([round_]) == ["hello", "I look.", *calls, ("error", "Loop detected"), "One."]
    assert [(m.role, m.at, m.model) for m in round_.messages] == [
        ("user", AT.format(1), None),
        ("assistant", AT.format(2), "g"),
        ("assistant", AT.format(7), "g"),
    ]
    assert round_.messages[-1].usage == Usage(4, 3, 2)


def test_what_opencode_prints_is_read(tmp_path: Path) -> None:
    (round_,) = printed(OPENCODE, tmp_path)
    calls = [("ls", {"path": "."}, "a.txt", False), ("cat", {}, "no", True)]
    assert shown([round_]) == ["Hm.", "I look.", *calls, "One.", ("error", "x")]
    assert [(m.id, m.usage) for m in round_.messages] == [("msg_1", Usage(4, 3, 2)), ("m2", None)]


def test_what_cursor_prints_is_read_once(tmp_path: Path) -> None:
    (round_,) = printed(CURSOR, tmp_path)
    calls = [("ls", {"path": "."}, "a.txt", False), ("read", {"path": "."}, "no", True)]
    assert shown([round_]) == ["hello", "Hm.", "I look.", *calls, "One."]
    whole = [line for line in CURSOR if "timestamp_ms" not in line]
    assert shown(printed(whole, tmp_path)) == ["hello", "I look.", *calls, "One."]


@pytest.mark.parametrize("lines", [GEMINI, OPENCODE, CURSOR], ids=["gemini", "opencode", "cursor"])
def test_a_stream_may_be_cut_anywhere(lines: list[dict[str, Any]]) -> None:
    for end in range(len(lines) + 1):
        rounds(*lines[:end])
        rounds(*lines[end:])


# -- telling


@pytest.mark.parametrize(
    "value",
    [
        {"sessionId": "s", "projectHash": "h", "messages": [{"type": "user", "content": "x"}]},
        {"info": {"id": "s"}, "messages": [{"info": {"role": "user"}, "parts": []}]},
        {"schema_version": "ATIF-v1.7", "steps": [], "messages": [USER]},
        {"session": {"id": "s"}, "items": [USER]},
        {"role": "user", "message": {"content": "x"}},
        {"type": "user", "message": USER, "uuid": "u", "sessionId": "s"},
        {"type": "message", "role": "user", "content": "x", "parent_id": "p"},
        {"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "user", "content": []}},
        {"role": "admin", "content": "x"},
        {"role": "user", "content": {"odd": 1}},
        {"role": ["user"], "content": "x"},
        {"type": ["message"], "id": "x"},
        {"role": "user", "content": "x", "thread_id": "t"},
        {"role": "user", "content": "x", "conversationId": "c", "id": 7},
        {"role": "admin", "content": "x", "tokens": 1},
        {"role": "user", "content": 7, "tokens": 1},
        {"role": "user", "name": "Ada", "email": "a@example.org"},
        {"type": "tool_call", "subtype": "started", "session_id": "s", "call_id": "c"},
        {"type": "user", "message": ANSWER, "session_id": "s"},
        {"type": "user", "message": USER, "sessionId": "s"},
        {"messages": ["hello"]},
        {"messages": []},
        {"name": "package", "version": "1"},
    ],
)
def test_what_others_write_is_not_taken(value: Any) -> None:
    for data in (json.dumps(value).encode(), json.dumps([value]).encode(), json.dumps(value, indent=2).encode()):
        assert not find.matches(Path("x.json"), data)


def test_one_line_that_does_not_fit_is_enough_to_refuse() -> None:
    lines = [json.dumps(value).encode() for value in (USER, ANSWER, {"type": "session", "id": "x"}, USER)]
    assert not find.matches(Path("x.jsonl"), b"\n".join(lines))


@pytest.mark.parametrize(
    "value",
    [{"model": "x", "messages": [USER | {"content": "y" * HEAD_BYTES}, ANSWER]}, USER | {"content": "y" * HEAD_BYTES}],
)
def test_what_is_longer_than_its_head_is_told_by_its_beginning(value: Any) -> None:
    assert find.matches(Path("x.json"), json.dumps(value).encode()[:HEAD_BYTES])


def test_lines_cut_by_the_end_of_the_head_are_no_hindrance() -> None:
    data = b"\n".join(json.dumps(USER | {"content": "z" * 5000}).encode() for _ in range(15))
    assert find.matches(Path("x.jsonl"), data[:HEAD_BYTES])


# -- sessions


def test_a_log_that_grows_is_one_session_and_restores_exactly(tmp_path: Path) -> None:
    path = tmp_path / "work" / "log.jsonl"
    path.parent.mkdir()
    archive = Archive(tmp_path / "store", ENV)
    outcomes: list[str] = []
    for count in range(1, 4):
        path.write_text("".join(json.dumps(value) + "\n" for value in [USER, ANSWER] * count))
        archive.inscribe([path], lambda outcome: outcomes.append(outcome.what))
    assert outcomes == ["new", "appended", "appended"]
    kept = path.read_bytes()
    path.unlink()
    archive.restore(archive.sessions()[0].session_id)
    assert path.read_bytes() == kept
    assert archive.sessions()[0].rounds == 3
    assert [checked.lossless for checked in archive.check_stored()] == [True]


def test_a_document_that_grows_is_written_anew_and_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "work" / "chat.json"
    path.parent.mkdir()
    archive = Archive(tmp_path / "store", ENV)
    outcomes: list[str] = []
    for count in (1, 2):
        path.write_text(json.dumps({"messages": [USER, ANSWER] * count}, indent=1))
        archive.inscribe([path], lambda outcome: outcomes.append(outcome.what))
    assert outcomes == ["new", "appended"]
    assert archive.sessions()[0].rounds == 2
    assert len(archive.sessions()) == 1


def test_a_document_is_the_same_conversation_however_it_is_written(tmp_path: Path) -> None:
    said = [USER | {"content": "héllo"}, ANSWER]
    forms: list[dict[str, Any]] = [{"indent": None}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}]
    made: list[bytes] = []
    ids: set[str] = set()
    for form in forms:
        path = tmp_path / "x.json"
        path.write_text(json.dumps({"model": "m", "messages": said}, **form))
        (session,) = find_in(path, ENV)
        ids.add(session.session_id)
        made.append(b"".join(named("messages").open("x.json", bytes_of(session.files[0]))))
    assert len(ids) == 1
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize(
    "odd", [b'{"role":"user","content":"\xff"}', b"7", b'"hello"', b'{"role":"user","content":1e999}']
)
def test_one_message_that_cannot_be_read_costs_no_other(odd: bytes) -> None:
    source = named("messages")
    data = json.dumps({"time": "2026-01-01T00:00:00Z", "messages": [USER, "ODD", ANSWER]}).encode()
    log = data.replace(b'"ODD"', odd) + b"\n" + json.dumps({"messages": [USER, ANSWER, USER]}).encode()
    for written, texts in ((log.split(b"\n")[0], 2), (log, 4)):
        found = list(source.read(records(source.open("x.json", [written])), Facts("x", "messages")))
        assert [words for _, words in said(found)] == ["hello", "good day", "good day", "hello"][:texts]
        assert len([b for r in found for b in r.blocks() if isinstance(b, Unknown) and b.damage]) == 1


def test_other_first_answers_make_other_sessions(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.json").write_text(json.dumps([USER, ANSWER | {"content": f"answer {number}"}]))
    assert len({session.session_id for session in find_in(tmp_path, ENV)}) == 3


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
PART = st.dictionaries(
    st.sampled_from(["type", "text", "id", "input", "content", "tool_use_id", "source"]), JSON, max_size=5
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"])},
    optional={
        "content": JSON | st.lists(PART, max_size=3),
        "tool_calls": st.lists(st.dictionaries(st.sampled_from(["id", "function"]), JSON, max_size=2), max_size=2),
        "refusal": JSON,
        "usage": JSON,
        "id": JSON,
    },
)


@settings(max_examples=150)
@given(st.lists(MESSAGE, max_size=6))
def test_whatever_a_message_holds_is_read(messages: list[Any]) -> None:
    found = rounds({"messages": [USER, *messages]})
    assert said(found)[0] == ("user", "hello")
    assert not [b.damage for r in found for b in r.blocks() if isinstance(b, Unknown) and b.damage]


TEXTS = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.text(min_size=1, max_size=30)), min_size=1, max_size=8
)


@settings(max_examples=80)
@given(TEXTS, st.sampled_from([None, 1]), st.booleans())
def test_all_that_is_said_comes_back(texts: list[tuple[str, str]], indent: Any, lines: bool) -> None:
    messages = [{"role": role, "content": words} for role, words in texts]
    found = rounds(*messages) if lines else rounds({"messages": messages}, indent=indent)
    assert said(found) == texts


def test_deep_and_broken_json_is_refused_or_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        json.dumps(USER).encode() + b"\n" + b'{"role":"user","content":' + b"[" * 100_000 + b"\n" + b"{]\n"
    )
    (session,) = named("messages").gather([path], tmp_path, [])
    source = named("messages")
    found = list(source.read(records(source.open("x.jsonl", bytes_of(session.files[0]))), Facts("x", "messages")))
    assert [b.damage for r in found for b in r.blocks() if isinstance(b, Unknown) and b.damage]


# -- a file that grows from before the first answer on

FORMS = {
    "lines": lambda said: "".join(json.dumps(message) + "\n" for message in said),
    "a list": json.dumps,
    "a request": lambda said: json.dumps({"model": "m", "messages": said}, indent=2),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_session_keeps_its_id_when_the_first_answer_comes(form: str, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", ENV)
    path = tmp_path / "talk.json"
    said: list[dict[str, str]] = []
    ids: set[str] = set()
    for message in (USER, ANSWER, USER | {"content": "and now?"}, ANSWER | {"content": "evening"}):
        said.append(message)
        path.write_text(FORMS[form](said))
        archive.inscribe([path])
        (session,) = archive.sessions()
        ids.add(session.session_id)
        assert archive.plan(archive.find([path])).unchanged == 1
    assert (len(ids), session.rounds, session.messages, session.versions) == (1, 2, 4, 0)


def test_the_same_prompt_with_another_answer_is_another_session(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", ENV)
    for name, answer in (("one", "good day"), ("two", "good night")):
        (tmp_path / f"{name}.json").write_text(json.dumps([USER, ANSWER | {"content": answer}]))
    archive.inscribe([tmp_path / "one.json", tmp_path / "two.json"])
    assert len(archive.sessions()) == 2
    (tmp_path / "one.json").write_text(json.dumps([USER | {"content": "replaced"}, ANSWER]))
    archive.inscribe([tmp_path / "one.json"])
    assert len(archive.sessions()) == 3
