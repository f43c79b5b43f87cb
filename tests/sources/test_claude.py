"""What is read from a Claude Code transcript: the facts, each by a file made for it, and whole cases as files.

`make golden` writes the expected files of the cases anew; read the diff.
"""

import difflib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from claude.transcripts import (
    FACTS,
    OTHER,
    SESSION,
    Transcript,
    call,
    events,
    fold,
    links,
    output_of,
    read,
    say,
    tools,
)

from muniment.model import Compaction, Event, Message, Round, Text, Tool, Unknown
from muniment.model.rounds import text_of
from muniment.store import document
from muniment.store import rounds as round_files

HERE = Path(__file__).parent / "claude"
CASES = sorted(path.parent.name for path in HERE.glob("*/input.jsonl"))


def answers(round_: Round) -> list[Message]:
    return [message for message in round_.messages if message.role == "assistant"]


def prompts(rounds: list[Round]) -> list[str]:
    return [text_of(round_.prompt) for round_ in rounds if round_.prompt]


def steering(round_: Round) -> list[str]:
    return [text_of(message) for message in round_.messages if message.queued]


# -- whole cases


def compare(path: Path, found: str) -> None:
    """The text is that of the file, or the difference is shown."""
    if os.environ.get("MUNIMENT_GOLDEN") == "write":
        path.write_text(found, encoding="utf-8")
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    diff = difflib.unified_diff(expected.split("\n"), found.split("\n"), "expected", "found", lineterm="", n=2)
    assert found == expected, f"{path.parent.name}/{path.name}\n" + "\n".join(diff)


@pytest.mark.parametrize("case", CASES)
def test_the_rounds_of_a_case_are_stored_as_expected(case: str) -> None:
    rounds = read((HERE / case / "input.jsonl").read_bytes())
    stored = [json.loads(round_files.encode(round_)) for round_ in rounds]
    compare(HERE / case / "expected.json", json.dumps(stored, indent=1) + "\n")


@pytest.mark.parametrize("case", CASES)
def test_the_document_of_a_case_reads_as_expected(case: str) -> None:
    rounds = read((HERE / case / "input.jsonl").read_bytes())
    pieces = document.render([message for round_ in rounds for message in round_.messages], "session")
    compare(HERE / case / "expected.md", document.SEPARATOR.encode().join(pieces).decode())


# -- answers and tools


def test_parts_of_one_answer_are_one_message_also_around_a_tool_result() -> None:
    file = Transcript()
    file.user("go")
    file.answer("m1", say("First."))
    file.answer("m1", call("t1"))
    file.result("t1")
    file.answer("m1", say("Still the same answer."))
    file.answer("m2", say("Another."))
    (round_,) = file.rounds()
    assert [message.id for message in answers(round_)] == ["m1", "m2"]
    assert [type(block) for block in answers(round_)[0].blocks] == [Text, Tool, Text]


def test_parallel_results_off_the_path_find_their_calls() -> None:
    """Each result hangs on the record of its own call, and the answer that follows on only one of them."""
    file = Transcript()
    file.user("go")
    first = file.answer("m1", call("a", command="one"))
    second = file.answer("m1", call("b", command="two"))
    file.result("b", "second", parentUuid=second)
    file.result("a", "first", parentUuid=first)
    file.answer("m2", say("Both done."), parentUuid="r4")
    (round_,) = file.rounds()
    assert [(tool.id, output_of(tool)) for tool in tools(round_)] == [("a", ["first"]), ("b", ["second"])]


def test_tokens_are_counted_once_per_answer_and_the_last_part_tells_them() -> None:
    file = Transcript()
    file.user("go")
    file.answer("m1", say("a"), output=1)
    file.answer("m1", say("b"), output=5)
    file.answer("m1", say("c"), output=30)
    file.answer("m2", say("d"), output=2)
    (round_,) = file.rounds()
    assert [message.usage and message.usage.output for message in answers(round_)] == [30, 2]
    assert round_.token_count == fold([round_]).tokens == 10 + 30 + 10 + 2


def test_a_result_in_a_later_round_stands_alone() -> None:
    file = Transcript()
    file.user("go")
    file.answer("m1", call("t1"))
    file.user("never mind")
    file.result("t1", "too late")
    first, second = file.rounds()
    assert tools(first)[0].output is None
    assert [(tool.name, output_of(tool)) for tool in tools(second)] == [(None, ["too late"])]


def test_a_result_that_was_written_before_its_call_finds_it() -> None:
    """Seen in a real file: the record of the call lies behind that of the result which hangs on it."""
    file = Transcript()
    file.user("go")
    file.answer("m1", call("t1", command="one"))
    file.result("t2", "second")
    file.answer("m1", call("t2", command="two"))
    file.answer("m1", call("t3", command="three"))
    file.result("t3", "third")
    file.result("t1", "first")
    (round_,) = file.rounds()
    told = [(tool.id, tool.name, output_of(tool)) for tool in tools(round_)]
    assert told == [("t1", "Bash", ["first"]), ("t2", "Bash", ["second"]), ("t3", "Bash", ["third"])]


def test_a_second_result_of_a_call_does_not_replace_the_first() -> None:
    file = Transcript()
    file.user("go")
    file.answer("m1", call("t1"))
    file.result("t1", "one")
    file.result("t1", "two")
    (round_,) = file.rounds()
    assert [(tool.name, output_of(tool)) for tool in tools(round_)] == [("Bash", ["one"]), (None, ["two"])]


@pytest.mark.parametrize("said", [None, False, True])
def test_an_error_flag_is_kept_as_said_or_not_said(said: bool | None) -> None:
    file = Transcript()
    file.answer("m1", call("t1"))
    flag = {} if said is None else {"is_error": said}
    file.user([{"type": "tool_result", "tool_use_id": "t1", "content": "x", **flag}])
    assert tools(file.rounds()[0])[0].is_error is said


def test_a_call_names_the_subagent_that_it_started() -> None:
    file = Transcript()
    file.answer("m1", call("t1", "Task"))
    file.result("t1", toolUseResult={"status": "completed", "agentId": "a1b2"})
    assert tools(file.rounds()[0])[0].sidechain == "a1b2"


# -- what a human said


def test_what_was_typed_while_the_agent_worked_steers_its_round() -> None:
    file = Transcript()
    file.user("go")
    file.answer("m1", call("t1"))
    file.attach("queued_command", prompt="and hurry", commandMode="prompt")
    file.attach("queued_command", prompt=[say("with a list")], origin={"kind": "human"})
    file.attach("queued_command", prompt="a task ended", commandMode="task-notification")
    file.attach("queued_command", prompt="from a machine", origin={"kind": "coordinator"})
    file.result("t1")
    (round_,) = file.rounds()
    assert steering(round_) == ["and hurry", "with a list"]
    assert output_of(tools(round_)[0]) == ["done"]


def test_words_beside_a_result_are_steering_unless_the_program_put_them_there() -> None:
    file = Transcript()
    file.user("go")
    file.answer("m1", call("t1"))
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
    file.user([result, say("stop that"), say("<system-reminder>be brief</system-reminder>")])
    (round_,) = file.rounds()
    assert steering(round_) == ["stop that"]
    assert [(e.kind, e.text) for e in events(round_) if e.text] == [
        ("reminder", "<system-reminder>be brief</system-reminder>")
    ]


INJECTED = [
    ("<local-command-stdout>Set model</local-command-stdout>", "command output"),
    ("<local-command-stderr>no</local-command-stderr>", "command output"),
    ("<local-command-caveat>Caveat</local-command-caveat>", "notice"),
    ("Caveat: The messages below were generated by the user while running local commands.", "notice"),
    ("Caveat: The messages below are were generated by the user while running local commands.", "notice"),
    ("<command-name>/model</command-name>\n<command-message>model</command-message>", "command"),
    ("<command-message>clear</command-message>\n<command-name>/clear</command-name>", "command"),
    ("<task-notification><task-id>b1</task-id></task-notification>", "task notification"),
    ("[SYSTEM NOTIFICATION - NOT USER INPUT]\nThe lamp is lit.", "task notification"),
    ("Another Claude session sent a message:\nThe lamp is lit.", "agent message"),
    ('<cross-session-message from="a1">The lamp is lit.</cross-session-message>', "agent message"),
    ("<bash-input>ls</bash-input>", "shell"),
    ("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>", "shell output"),
    ("[Request interrupted by user]", "interrupted"),
    ("[Request interrupted by user for tool use]", "interrupted"),
    ("This session is being continued from a previous conversation that ran out.", "continuation"),
    ("Base directory for this skill: /s", "skill"),
    ("Stop hook feedback:\nno", "hook"),
    ("<ide_opened_file>a.py</ide_opened_file>", "ide"),
    ("\n <system-reminder>x</system-reminder>\n", "reminder"),
]


@pytest.mark.parametrize(("text", "kind"), INJECTED)
def test_injected_text_opens_no_round(text: str, kind: str) -> None:
    for content in (text, [say(text)]):
        file = Transcript()
        file.user("go")
        file.user(content)
        (round_,) = file.rounds()
        assert [(event.kind, event.text) for event in events(round_)] == [(kind, text)]


def test_a_record_marked_as_injected_opens_no_round_whatever_it_says() -> None:
    file = Transcript()
    file.user("go")
    file.user("Continue from where you left off.", isMeta=True)
    (round_,) = file.rounds()
    assert [(event.kind, event.text) for event in events(round_)] == [("injected", "Continue from where you left off.")]


@pytest.mark.parametrize(
    ("origin", "kind"),
    [
        ("peer", "agent message"),
        ("coordinator", "agent message"),
        ("task-notification", "task notification"),
        ("hook", "hook"),
        ("auto-continuation", "continuation"),
    ],
)
def test_what_says_that_no_human_sent_it_opens_no_round(origin: str, kind: str) -> None:
    file = Transcript()
    file.user("go")
    file.user("The lamp is lit.", origin={"kind": origin})
    (round_,) = file.rounds()
    assert [(event.kind, event.text) for event in events(round_)] == [(kind, "The lamp is lit.")]


@pytest.mark.parametrize("origin", [{"kind": "human"}, {"kind": "channel"}, {"kind": 5}, "peer", None])
def test_what_a_human_may_have_sent_is_a_prompt(origin: Any) -> None:
    file = Transcript()
    file.user("go", origin=origin)
    assert prompts(file.rounds()) == ["go"]


def test_what_an_agent_says_to_its_subagent_is_a_prompt_there() -> None:
    file = Transcript()
    file.user("survey", isSidechain=True, agentId="a1", origin={"kind": "coordinator"})
    rounds = read(file.data, type(FACTS)(SESSION, "claude-code", sidechain="a1"))
    assert prompts(rounds) == ["survey"]


@pytest.mark.parametrize(
    "text",
    [
        "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>1</command-args>",
        "<command-name>/my-model</command-name>",
        "<ide_opened_file>a.py</ide_opened_file>\nwhat does this do?",
        "<system-reminder>x</system-reminder> hello",
        "<novel-tag>hello</novel-tag>",
        "/model is broken",
        "why do I see [Request interrupted by user] here?",
        "",
    ],
)
def test_a_human_prompt_opens_a_round(text: str) -> None:
    file = Transcript()
    file.user("go")
    file.user(text)
    assert prompts(file.rounds()) == ["go", text]


def test_a_note_of_the_editor_in_a_part_of_its_own_stands_beside_the_prompt() -> None:
    file = Transcript()
    file.user([say("<ide_selection>x = 1</ide_selection>"), say("explain")])
    (round_,) = file.rounds()
    assert prompts([round_]) == ["explain"]
    assert [(event.kind, event.text) for event in events(round_)] == [("ide", "<ide_selection>x = 1</ide_selection>")]


def test_a_session_that_begins_with_a_slash_command_is_called_by_it_as_it_was_typed() -> None:
    file = Transcript()
    file.user(
        "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>12</command-args>"
    )
    file.user("<command-name>/deploy</command-name>")
    assert fold(file.rounds()).display_title == "/review 12"
    file.meta("ai-title", aiTitle="Reviewing", sessionId=SESSION)
    assert fold(file.rounds()).display_title == "Reviewing"


def test_an_image_alone_is_a_prompt() -> None:
    file = Transcript()
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    file.user([{"type": "image", "source": source}])
    (round_,) = file.rounds()
    assert round_.prompted
    assert list(round_.media.values()) == [b"\x89PNG"]


# -- what happens to a conversation


def test_a_compaction_is_a_boundary_and_its_summary_inside_the_round() -> None:
    file = Transcript()
    file.user("go")
    detail = {"trigger": "auto", "preTokens": 9}
    file.chain(
        "system", subtype="compact_boundary", content="Conversation compacted", compactMetadata=detail, parentUuid=None
    )
    summary = "This session is being continued from a previous conversation. We went."
    file.user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    file.answer("m1", say("On it."))
    (round_,) = file.rounds()
    assert [block.text for block in round_.blocks() if isinstance(block, Compaction)] == [summary]
    boundary = next(event for event in events(round_) if event.kind == "compaction boundary")
    assert boundary.detail["metadata"] == detail


SUMMARY = "This session is being continued from a previous conversation that ran out of context. The lamp is lit."


def test_a_session_may_begin_with_a_summary_that_nothing_marks_as_one() -> None:
    file = Transcript()
    file.user(SUMMARY)
    file.user("go")
    (round_,) = file.rounds()
    assert [block.text for block in round_.blocks() if isinstance(block, Compaction)] == [SUMMARY]
    assert prompts([round_]) == ["go"]


def test_subagents_written_into_the_main_file_are_marked_and_open_no_round() -> None:
    file = Transcript()
    file.user("go")
    file.answer("m1", call("t1", "Task"))
    start = file.user("survey the options", isSidechain=True, parentUuid=None)
    file.answer("s1", call("t2", "Grep"), isSidechain=True)
    file.result("t2", "found", isSidechain=True)
    file.answer("s2", say("Nothing."), isSidechain=True)
    file.result("t1", parentUuid="r2")
    (round_,) = file.rounds()
    assert [(m.sidechain, m.id) for m in round_.messages] == [
        (None, None),
        (None, "m1"),
        (start, None),
        (start, "s1"),
        (start, "s2"),
    ]
    assert [(tool.id, output_of(tool)) for tool in tools(round_)] == [("t1", ["done"]), ("t2", ["found"])]


def test_what_is_put_into_an_inline_subagent_is_not_its_prompt() -> None:
    file = Transcript()
    file.user("go")
    file.answer("m1", call("t1", "Task"))
    start = file.user("<system-reminder>be brief</system-reminder>", isSidechain=True, parentUuid=None)
    file.user([say("survey the options"), say("<ide_selection>x = 1</ide_selection>")], isSidechain=True)
    file.answer("s1", say("Nothing."), isSidechain=True)
    file.answer("m2", say("Waiting."), parentUuid="r2")
    file.user("Go on.", isSidechain=True, isMeta=True, parentUuid="r5")
    (round_,) = file.rounds()
    told = [
        (m.sidechain, m.id or text_of(m), [b.kind for b in m.blocks if isinstance(b, Event)]) for m in round_.messages
    ]
    assert told == [
        (None, "go", []),
        (None, "m1", []),
        (start, "", ["reminder"]),
        (start, "survey the options", ["ide"]),
        (start, "s1", ["injected"]),
        (None, "m2", []),
    ]


def test_a_subagents_own_file_is_a_conversation_of_its_own() -> None:
    file = Transcript()
    file.user("survey", isSidechain=True, agentId="a1")
    file.answer("m1", say("Done."), isSidechain=True, agentId="a1")
    facts = type(FACTS)(SESSION, "claude-code", sidechain="a1")
    (round_,) = read(file.data, facts)
    assert prompts([round_]) == ["survey"]
    assert [message.sidechain for message in round_.messages] == [None, None]


def test_a_rewound_prompt_says_which_record_it_continues() -> None:
    file = Transcript()
    file.user("go")
    turn = file.answer("m1", say("Left."))
    file.user("wrong way")
    file.answer("m2", say("Oh."))
    file.user("the other way", parentUuid=turn)
    rounds = file.rounds()
    assert rounds[2].parent == turn
    assert turn not in {block.ref.id for block in rounds[1].blocks()}
    assert len(rounds) == 3


def test_records_of_another_session_say_that_history_was_copied() -> None:
    file = Transcript(OTHER)
    file.user("go")
    file.answer("m1", say("Yes."))
    file.session = SESSION
    file.user("on")
    assert links(file.rounds()) == [("copied from", OTHER, None)]


def test_a_fork_names_the_session_and_the_record_it_left() -> None:
    file = Transcript()
    file.user("go", forkedFrom={"sessionId": OTHER, "messageUuid": "r9"})
    file.answer("m1", say("Yes."), forkedFrom={"sessionId": OTHER, "messageUuid": "r10"})
    assert links(file.rounds()) == [("fork", OTHER, "r9")]


def test_a_record_may_name_the_session_before_it() -> None:
    file = Transcript()
    file.user("go", parentSessionId=OTHER)
    file.answer("m1", say("Yes."), parentSessionId=OTHER)
    assert links(file.rounds()) == [("continues", OTHER, None)]
    forked = Transcript()
    forked.user("go", parentSessionId=OTHER, forkedFrom={"sessionId": OTHER, "messageUuid": "r1"})
    assert links(forked.rounds()) == [("fork", OTHER, "r1")]
    own = Transcript()
    own.user("go", parentSessionId=SESSION)
    assert links(own.rounds()) == []


def test_a_cleared_session_continues_the_one_of_its_process() -> None:
    file = Transcript()
    file.user("go", session_id=OTHER)
    file.user("on", session_id=SESSION)
    assert links(file.rounds()) == [("continues", OTHER, None)]


# -- metadata


@pytest.mark.parametrize(
    ("order", "title"),
    [
        (("custom-title", "ai-title"), "by a person"),
        (("ai-title", "custom-title"), "by a person"),
        (("ai-title",), "by the agent"),
    ],
)
def test_a_persons_title_outranks_the_agents(order: tuple[str, ...], title: str) -> None:
    file = Transcript()
    file.user("go")
    given = {"custom-title": {"customTitle": "by a person"}, "ai-title": {"aiTitle": "by the agent"}}
    for type_ in order:
        file.meta(type_, **given[type_], sessionId=SESSION)
    assert fold(file.rounds()).title == title


def test_the_last_title_of_the_same_rank_holds_and_an_empty_one_is_none() -> None:
    file = Transcript()
    for title in ("one", "two", ""):
        file.meta("custom-title", customTitle=title, sessionId=SESSION)
    assert fold(file.rounds()).title == "two"


def test_a_session_without_a_title_is_called_by_its_first_prompt() -> None:
    file = Transcript()
    file.user("<local-command-stdout>x</local-command-stdout>")
    file.user("fix   the\nlogin page")
    assert fold(file.rounds()).display_title == "fix the login page"


def test_unknown_records_are_kept_as_quiet_events_at_their_place() -> None:
    file = Transcript()
    file.user("go")
    at = file.meta("marble-origami-commit", data=[1])
    file.chain("premonition", content="boo")
    file.chain("system", subtype="novelty")
    file.attach("novelty", text="x")
    (round_,) = file.rounds()
    kinds = [(event.kind, event.text) for event in events(round_)]
    assert kinds == [
        ("marble-origami-commit", ""),
        ("premonition", ""),
        ("system novelty", ""),
        ("attachment novelty", ""),
    ]
    assert events(round_)[0].ref.offset == at
    assert file.last in {event.ref.id for event in events(round_)}


def test_parts_of_an_unknown_type_are_kept_as_they_came() -> None:
    file = Transcript()
    part: dict[str, Any] = {"type": "fallback", "from": {"model": "a"}}
    file.answer("m1", part, {"type": "text", "text": 5})
    blocks = file.rounds()[0].messages[0].blocks
    assert [(block.kind, block.value) for block in blocks if isinstance(block, Unknown)] == [
        ("fallback", part),
        ("text", {"type": "text", "text": 5}),
    ]


def test_a_repeated_record_is_noted_and_not_read_twice() -> None:
    file = Transcript()
    file.user("go")
    file.answer("m1", call("t1"))
    file.raw(file.lines[-1])
    (round_,) = file.rounds()
    assert len(tools(round_)) == 1
    assert [event.kind for event in events(round_)] == ["repeated record"]


def test_folder_branch_and_version_are_told_where_they_change() -> None:
    file = Transcript()
    file.user("go", gitBranch="main")
    file.answer("m1", say("a"), gitBranch="main")
    file.user("on", gitBranch="main", cwd="/w/sub")
    messages = [message for round_ in file.rounds() for message in round_.messages]
    assert [(m.cwd, m.branch, m.client) for m in messages] == [
        ("/w", "main", "2.1.200"),
        (None, None, None),
        ("/w/sub", None, None),
    ]
    facts = fold(file.rounds())
    assert (facts.first_cwd, facts.cwd) == ("/w", "/w/sub")


def test_an_api_error_is_shown_in_its_shortest_form() -> None:
    file = Transcript()
    file.user("go")
    file.chain("system", subtype="api_error", error={"error": {"error": {"message": "Overloaded"}}})
    assert [(event.kind, event.text) for event in events(file.rounds()[0])] == [("API error", "Overloaded")]
