"""Records that real files have and that are not what one expects: each is read, written and found without loss."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from muniment.check import Checked, check_found
from muniment.model import Block, Media, Text, Thinking, Tool
from muniment.model.blocks import is_quiet
from muniment.model.rounds import text_of
from muniment.sources import find_in, named
from muniment.sources.base import Move
from muniment.sources.claude import SOURCE
from muniment.store import document
from muniment.store.rows import placed

from .transcripts import SESSION, Transcript, call, events, fold, read, say

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
LINKED = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}


@pytest.fixture
def file() -> Transcript:
    made = Transcript()
    made.user("go")
    return made


def checked(file: Transcript, folder: Path) -> Checked:
    path = folder / f"{SESSION}.jsonl"
    path.write_bytes(file.data)
    (found,) = find_in(path, {})
    (result,) = check_found(found)
    return result


def thought(**fields: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "hm", **fields}


@pytest.mark.parametrize("part", [thought(), thought(signature=""), thought(thinking="", signature="")])
def test_a_thought_without_a_signature_keeps_its_record(file: Transcript, tmp_path: Path, part: dict[str, Any]) -> None:
    file.answer("msg_1", part)
    file.answer("msg_1", say("done"))
    (round_,) = file.rounds()
    assert [b.signature for b in round_.blocks() if isinstance(b, Thinking)] == [part.get("signature")]
    result = checked(file, tmp_path)
    assert result.lossless
    assert result.export["thinking"].equal == 1


@pytest.mark.parametrize("fields", [{}, {"signature": "seal"}])
def test_a_thought_may_be_called_text(file: Transcript, tmp_path: Path, fields: dict[str, Any]) -> None:
    file.answer("msg_1", {"type": "thinking", "text": "hm", **fields})
    (round_,) = file.rounds()
    assert [(b.text, b.signature) for b in round_.blocks() if isinstance(b, Thinking)] == [
        ("hm", fields.get("signature"))
    ]
    result = checked(file, tmp_path)
    assert result.lossless
    assert (result.export["thinking"].equal, result.document["thinking"].equal) == (1, 1)


@pytest.mark.parametrize("content", ["Go on.", [say("Go on."), PICTURE], "<system-reminder>brief</system-reminder>"])
def test_what_is_put_into_an_inline_subagent_stays_there(file: Transcript, tmp_path: Path, content: Any) -> None:
    file.user("survey", isSidechain=True, parentUuid=None)
    file.user(content, isSidechain=True, isMeta=True)
    rounds = file.rounds()
    media = rounds[0].media.__getitem__
    written = [json.loads(line) for line in SOURCE.write(rounds, fold(rounds), Move(), media, [])]
    assert [(record["isSidechain"], record.get("isMeta")) for record in written] == [
        (False, None),
        (True, None),
        (True, True),
    ]
    assert checked(file, tmp_path).lossless


def test_an_answer_without_an_id_gets_none(file: Transcript, tmp_path: Path) -> None:
    file.chain("assistant", message={"role": "assistant", "model": "claude-x", "content": [say("done")]})
    assert checked(file, tmp_path).lossless


def test_a_record_without_a_time_gets_none(file: Transcript, tmp_path: Path) -> None:
    file.answer("msg_1", say("done"), timestamp=None)
    assert checked(file, tmp_path).lossless


@pytest.mark.parametrize("content", [[], None])
def test_an_answer_without_content_keeps_its_record(file: Transcript, tmp_path: Path, content: Any) -> None:
    file.chain("assistant", message={"role": "assistant", "model": "claude-x", "id": "msg_1", "content": content})
    file.answer("msg_2", say("done"))
    result = checked(file, tmp_path)
    assert result.lossless
    assert result.export["message id"].equal == 2


@pytest.mark.parametrize("fields", [{}, {"isMeta": True}, {"isCompactSummary": True}])
def test_a_user_record_without_content_is_no_prompt_and_stays(
    file: Transcript, tmp_path: Path, fields: dict[str, Any]
) -> None:
    file.user([], **fields)
    file.answer("msg_1", say("done"))
    assert len(file.rounds()) == 1
    assert checked(file, tmp_path).lossless


@pytest.mark.parametrize(
    "marks",
    [
        {"isMeta": True},
        {"isCompactSummary": True, "isVisibleInTranscriptOnly": True},
        {"origin": {"kind": "peer", "from": "a1"}},
    ],
)
@pytest.mark.parametrize("content", [[PICTURE], [say("two pages"), PICTURE], [PICTURE, say("two pages")]])
def test_what_the_program_puts_in_is_never_the_agents(
    file: Transcript, tmp_path: Path, marks: dict[str, Any], content: list[Any]
) -> None:
    """A file that was read comes as a record of the user: written as an answer, no model would take it."""
    file.answer("msg_1", call("toolu_1", "Read"))
    file.result("toolu_1", "PDF file read")
    file.user(content, **marks)
    file.answer("msg_2", say("done"))
    (round_,) = file.rounds()
    assert [block.media_type for block in round_.blocks() if isinstance(block, Media)] == ["image/png"]
    written = SOURCE.write([round_], fold([round_]), Move(), round_.media.__getitem__, [])
    holder = next(json.loads(line) for line in written if b"iVBORw==" in line)
    assert holder["type"] == "user"
    assert marks.items() <= holder.items()
    assert checked(file, tmp_path).lossless


def test_a_picture_beside_a_result_stays_in_its_record(file: Transcript, tmp_path: Path) -> None:
    file.answer("msg_1", call("toolu_1", "Read"))
    file.user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"}, PICTURE])
    assert checked(file, tmp_path).lossless


@pytest.mark.parametrize("part", [LINKED, {**PICTURE, "source": {**PICTURE["source"], "data": "not base64"}}])
def test_a_picture_that_is_no_bytes_is_shown_as_it_came(file: Transcript, tmp_path: Path, part: dict[str, Any]) -> None:
    file.user([part, say("look")])
    assert checked(file, tmp_path).lossless


SUMMARY = "This session is being continued from a previous conversation that ran out of context. The lamp is lit."


@pytest.mark.parametrize("content", [SUMMARY, [say(SUMMARY)]])
def test_a_first_summary_without_marks_gets_none(tmp_path: Path, content: Any) -> None:
    file = Transcript()
    file.user(content)
    file.user("go")
    rounds = file.rounds()
    first = json.loads(next(iter(SOURCE.write(rounds, fold(rounds), Move(), {}.__getitem__, []))))
    assert not first.keys() & {"isCompactSummary", "isVisibleInTranscriptOnly"}
    assert checked(file, tmp_path).lossless


@pytest.mark.parametrize("target", ["codex", "pi", "opencode"])
def test_other_agents_are_told_a_first_summary_without_marks(target: str) -> None:
    file = Transcript()
    file.user(SUMMARY)
    file.user("go")
    rounds = file.rounds()
    assert SUMMARY.encode() in b"".join(named(target).write(rounds, fold(rounds), Move(), {}.__getitem__, []))


# -- what was typed while the agent worked


def enqueued(file: Transcript, words: Any) -> None:
    file.meta("queue-operation", operation="enqueue", content=words, timestamp="2026-01-02T03:05:00.000Z")


def words_of(block: Block) -> str:
    return block.id if isinstance(block, Tool) else getattr(block, "text", "")


def steering(file: Transcript) -> list[str]:
    return [text_of(message) for round_ in file.rounds() for message in round_.messages if message.queued]


def test_words_that_only_the_queue_has_are_the_humans(file: Transcript, tmp_path: Path) -> None:
    file.answer("msg_1", call("toolu_1"))
    enqueued(file, "and the tests?")
    notices = ["<task-notification>done", "<bash-notification>done", '{"task_id":"1"}', [say("no string")]]
    notices += ["Another Claude session sent a message: lit", '<cross-session-message from="a1">lit']
    for notice in (*notices, "[SYSTEM NOTIFICATION - NOT USER INPUT] lit"):
        enqueued(file, notice)
    for second in range(8):
        file.meta("queue-operation", operation="remove", timestamp=f"2026-01-02T03:05:0{second}.000Z")
    file.result("toolu_1")
    file.answer("msg_2", say("done"))
    assert steering(file) == ["and the tests?"]
    assert checked(file, tmp_path).lossless


def test_words_of_the_queue_stand_where_they_were_typed(file: Transcript, tmp_path: Path) -> None:
    """Their place names the record that has them, and in the order of records they come before what followed."""
    file.answer("msg_1", say("first"))
    at = len(file.data)
    enqueued(file, "one")
    enqueued(file, "two")
    file.answer("msg_2", call("toolu_1"))
    file.meta("queue-operation", operation="remove")
    file.meta("queue-operation", operation="remove")
    file.result("toolu_1")
    (round_,) = file.rounds()
    assert [text_of(m) or m.id for m in round_.messages] == ["go", "first", "one", "two", "msg_2"]
    assert round_.messages[2].blocks[0].ref.offset == at
    assert checked(file, tmp_path).lossless


def test_what_follows_words_of_the_queue_stands_behind_them(file: Transcript, tmp_path: Path) -> None:
    """A notice that was written between the words and the record that tells that they came through."""
    file.answer("msg_1", say("first"), call("toolu_1"))
    enqueued(file, "one")
    file.user("<task-notification>done</task-notification>")
    enqueued(file, "two")
    file.chain("system", subtype="api_error", error={"message": "overloaded"})
    file.answer("msg_1", call("toolu_2"))
    file.meta("queue-operation", operation="remove")
    file.meta("queue-operation", operation="remove")
    file.result("toolu_1")
    file.result("toolu_2")
    (round_,) = file.rounds()
    shown = [[words_of(b) for b in m.blocks if not is_quiet(b)] for m in round_.messages]
    notice = "<task-notification>done</task-notification>"
    assert shown == [["go"], ["first", "toolu_1", "toolu_2"], ["one", notice], ["two", "overloaded"]]
    assert all(tool.output for tool in round_.of(Tool))
    assert checked(file, tmp_path).lossless


@pytest.mark.parametrize(
    ("operation", "fields"),
    [("dequeue", {}), ("popAll", {}), ("remove", {"content": "and the tests?"})],
)
def test_words_that_stand_elsewhere_too_are_read_once(file: Transcript, operation: str, fields: dict[str, str]) -> None:
    """What is dequeued becomes a prompt, what is popped goes back to its writer; later versions attach the rest."""
    enqueued(file, "and the tests?")
    file.meta("queue-operation", operation=operation, **fields)
    assert steering(file) == []


@pytest.mark.parametrize("between", [0, 1])
def test_words_that_are_attached_later_are_read_once_and_there(file: Transcript, tmp_path: Path, between: int) -> None:
    file.answer("msg_1", call("toolu_1"))
    enqueued(file, "and the tests?")
    file.meta("queue-operation", operation="remove")
    for _ in range(between):
        file.result("toolu_1")
        file.answer("msg_2", say("well"))
    file.attach("queued_command", prompt="and the tests?", commandMode="prompt")
    assert steering(file) == ["and the tests?"]
    assert [message.queued for round_ in file.rounds() for message in round_.messages][-1]
    assert checked(file, tmp_path).lossless


def test_what_another_agent_sent_is_attached_and_no_steering(file: Transcript, tmp_path: Path) -> None:
    file.answer("msg_1", call("toolu_1"))
    file.attach("queued_command", prompt="Another Claude session sent a message: lit", commandMode="prompt")
    file.result("toolu_1")
    assert steering(file) == []
    assert checked(file, tmp_path).lossless


def test_what_says_that_an_agent_sent_it_says_so_again(file: Transcript, tmp_path: Path) -> None:
    origin = {"kind": "peer", "from": "a1"}
    file.user("The lamp is lit.", origin=origin)
    file.answer("msg_1", say("done"))
    rounds = file.rounds()
    written = [json.loads(line) for line in SOURCE.write(rounds, fold(rounds), Move(), {}.__getitem__, [])]
    assert [record.get("origin") for record in written] == [None, origin, None]
    assert checked(file, tmp_path).lossless


def test_the_queue_is_one_of_its_round(file: Transcript) -> None:
    """Reading may begin at any round, and must give the same."""
    enqueued(file, "first")
    file.user("next")
    file.meta("queue-operation", operation="remove")
    assert steering(file) == []


# -- what the program answers itself


def test_a_command_behind_a_notice_is_the_programs_whatever_its_name(file: Transcript) -> None:
    notice = file.user("<local-command-caveat>Caveat: commands follow</local-command-caveat>", isMeta=True)
    file.user("<command-name>/brand-new</command-name>", parentUuid=notice)
    file.user("<local-command-stdout>ok</local-command-stdout>")
    file.user("<command-name>/my-own</command-name>")
    first, second = file.rounds()
    assert "command" in [event.kind for event in events(first)]
    assert second.prompt
    assert isinstance(second.prompt.blocks[0], Text)


@pytest.mark.parametrize(
    "first",
    [
        b'{"type":"queue-operation","operation":"enqueue","content":"%s","sessionId":"s"}',
        b'{"type":"file-history-snapshot","messageId":"m","snapshot":{"trackedFileBackups":{"%s":1}}}',
    ],
)
def test_a_first_line_longer_than_the_head_of_a_file_is_known(tmp_path: Path, first: bytes) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    made = Transcript()
    made.user("go")
    path.write_bytes(first % (b"x" * 100_000) + b"\n" + made.data)
    (found,) = find_in(path, {})
    assert (found.source, found.session_id) == ("claude-code", SESSION)


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tide tables"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {
            "type": "web_search_result",
            "title": "Tides of Cuxhaven",
            "url": "https://t.example",
            "encrypted_content": "Eo8",
        }
    ],
}


@pytest.mark.parametrize("together", [True, False])
def test_a_search_of_the_service_is_a_call_with_its_result(file: Transcript, tmp_path: Path, together: bool) -> None:
    parts = [SEARCH, FOUND, say("It is high at six.")]
    for record in [parts] if together else [[part] for part in parts]:
        file.answer("msg_1", *record)
    (tool,) = [block for block in file.rounds()[0].blocks() if isinstance(block, Tool)]
    assert (tool.name, tool.input, tool.output is not None) == ("web_search", {"query": "tide tables"}, True)
    made = checked(file, tmp_path)
    assert made.lossless
    assert not [name for name, tally in made.export.items() if not tally.kept]
    texts = [text for _, text in placed(file.rounds()[0])]
    assert any("Tides of Cuxhaven" in text and "Eo8" not in text for text in texts)


@pytest.mark.parametrize(
    ("about", "kind"),
    [
        (
            {"prompt": "<task-notification>done</task-notification>", "commandMode": "task-notification"},
            "task notification",
        ),
        ({"prompt": "the build is green", "origin": {"kind": "peer"}}, "agent message"),
    ],
)
def test_what_no_human_queued_is_shown_and_found(file: Transcript, tmp_path: Path, about: Any, kind: str) -> None:
    file.answer("msg_1", say("working"))
    file.attach("queued_command", **about)
    told = [event for event in events(file.rounds()[0]) if event.text]
    assert [(event.kind, event.text) for event in told] == [(kind, about["prompt"])]
    assert about["prompt"] in [text for _, text in placed(file.rounds()[0])]
    made = checked(file, tmp_path)
    assert made.stable
    assert made.lossless
    written = b"".join(SOURCE.write(file.rounds(), fold(file.rounds()), Move(), {}.__getitem__, []))
    assert json.loads(written.splitlines()[-1])["attachment"] == {"type": "queued_command", **about}


def test_the_part_that_ends_an_answer_has_the_final_cost(file: Transcript) -> None:
    """The first part of a stream counts what later turns out to have been cached."""
    for stop, usage in ((None, (900, 1, 0)), ("end_turn", (10, 40, 800)), (None, (900, 1, 0))):
        tokens = dict(zip(("input_tokens", "output_tokens", "cache_read_input_tokens"), usage, strict=True))
        said = {"id": "msg_1", "content": [say("x")], "usage": tokens, "stop_reason": stop}
        file.chain("assistant", message=said)
    assert fold(file.rounds()).tokens == 850


def test_a_document_alone_keeps_the_ids_that_stand_in_it(file: Transcript) -> None:
    file.answer("msg_01Abc", say("looking"), call("toolu_9"))
    file.result("toolu_9")
    file.user("<local-command-stdout>ok</local-command-stdout>")
    rounds = file.rounds()
    known = [structs.replace(r, messages=tuple(map(document.visible, r.messages)), offset=0) for r in rounds]
    written = b"".join(SOURCE.write(known, fold(rounds), Move(), {}.__getitem__, []))
    assert b'"id":"msg_01Abc"' in written
    assert b'"tool_use_id":"toolu_9"' in written
    again = [document.visible(message) for round_ in read(written) for message in round_.messages]
    assert again == [message for round_ in known for message in round_.messages]


@pytest.mark.parametrize("session", [None, 5, "", [], {"sessionId": "x"}])
def test_a_fork_of_no_session_is_no_link(session: Any) -> None:
    file = Transcript()
    file.user("go", forkedFrom={"sessionId": session, "messageUuid": "r1"})
    assert not [event for event in events(file.rounds()[0]) if event.kind == "link"]
