"""What is read from a session of pi."""

import json
from pathlib import Path

import pytest

from muniment import check, sources
from muniment.archive import Archive
from muniment.model import Compaction, Event, Media, Text, Thinking, Tool, Unknown
from muniment.model.rounds import text_of
from muniment.store.index import Index

from .sessions import ABOUT, SESSION, Tree, call, facts_before, header, lines, read, words, write


def prompts(data: bytes) -> list[str]:
    return [text_of(round_.prompt) for round_ in read(data) if round_.prompt]


def conversation(linear: bool = False) -> Tree:
    tree = Tree(linear)
    tree.add("model_change", provider="anthropic", modelId="claude-sonnet-4-5")
    tree.user("look around")
    thought = {"type": "thinking", "thinking": "Two commands.", "thinkingSignature": "c2ln"}
    tree.answer(thought, words("I look."), call("c1", "ls"), call("c2", "exit 3"), stop="toolUse", responseId="msg_1")
    tree.result("c2", "code 3", failed=True)
    tree.result("c1", "a.txt", details={"lines": 1})
    tree.answer(words("One file."))
    return tree


@pytest.mark.parametrize("linear", [True, False], ids=["version 1", "version 3"])
def test_a_session_reads_the_same_in_every_version(linear: bool) -> None:
    (round_,) = read(conversation(linear).data)
    user, first, last = round_.messages
    assert (text_of(user), user.cwd, text_of(last)) == ("look around", "/proj/app", "One file.")
    thought, said, one, two = (block for block in first.blocks if not isinstance(block, Event))
    assert isinstance(thought, Thinking)
    assert (thought.text, thought.signature) == ("Two commands.", "c2ln")
    assert isinstance(said, Text)
    assert isinstance(one, Tool)
    assert (one.output, one.is_error) == ((Text("a.txt"),), False)
    assert isinstance(two, Tool)
    assert (two.output, two.is_error) == ((Text("code 3"),), True)
    assert (first.id, first.model) == ("msg_1", "claude-sonnet-4-5")


def test_cached_tokens_are_counted_apart() -> None:
    facts = facts_before(read(conversation().data))[-1]
    assert facts.tokens == 2 * 32
    usage = read(conversation().data)[0].messages[1].usage
    assert usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (3, 4, 20, 5)


def test_words_that_come_while_the_agent_works_steer_it() -> None:
    tree = Tree()
    tree.user("begin")
    tree.answer(call("c1", "ls"), stop="toolUse")
    tree.result("c1", "a.txt")
    tree.user("only markdown")
    tree.user("and no code")
    tree.answer(words("Done."))
    tree.user("next")
    assert prompts(tree.data) == ["begin", "next"]
    assert [text_of(m) for m in read(tree.data)[0].messages if m.queued] == ["only markdown", "and no code"]


def test_a_branch_opens_a_round_that_follows_the_entry_it_left_from(tmp_path: Path) -> None:
    tree = Tree()
    tree.user("one")
    first = tree.answer(words("1"))
    left = tree.user("two")
    tree.answer(words("2"))
    tree.add("branch_summary", first, fromId=left, summary="Two was tried.")
    tree.user("three")
    tree.answer(words("3"))
    rounds = read(tree.data)
    assert [round_.parent for round_ in rounds] == [None, first, first]
    assert [b.text for b in rounds[2].blocks() if isinstance(b, Event) and b.text] == ["Two was tried."]
    path = tmp_path / "in" / "x.jsonl"
    path.parent.mkdir()
    path.write_bytes(tree.data)
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path)})
    archive.inscribe([path])
    with Index(archive.layout) as index:
        assert index.abandoned(archive.sessions()[0].session_id) == {2}


def test_a_command_of_the_person_is_a_tool_call_of_nobody() -> None:
    tree = conversation()
    run = {"role": "bashExecution", "command": "date", "output": "today\n", "exitCode": 0, "timestamp": 1700}
    tree.add("message", message=run)
    message = read(tree.data)[0].messages[-1]
    (tool,) = message.blocks
    assert isinstance(tool, Tool)
    assert (tool.name, tool.input) == ("bash", {"command": "date"})
    assert (tool.output, tool.is_error, message.model) == ((Text("today\n"),), False, None)


def test_an_answer_that_broke_off_says_why() -> None:
    tree = Tree()
    tree.user("begin")
    tree.answer(stop="aborted", errorMessage="Request was aborted")
    assert [b.text for b in read(tree.data)[0].messages[1].blocks if isinstance(b, Event)] == ["Request was aborted"]


def test_what_extensions_and_settings_say_is_kept() -> None:
    tree = conversation()
    tree.add("custom", customType="todo", data={"open": 2})
    tree.add("custom_message", customType="todo", content=[words("Two are open.")], display=False)
    tree.add("label", targetId="00000002", label="start")
    tree.add("novel_entry", something=[1, 2])
    tree.add("message", message={"role": "novel", "content": "?"})
    tree.add("message", message={"role": "hookMessage", "customType": "hook", "content": "beware", "display": True})
    tree.add("compaction", summary="So far.", firstKeptEntryId="00000002", tokensBefore=9)
    tree.add("session_info", name="Files")
    rounds = read(tree.data)
    events = {b.kind: (b.text, b.detail) for b in rounds[0].blocks() if isinstance(b, Event)}
    assert events["custom"] == ("", {"customType": "todo", "data": {"open": 2}})
    assert events["novel entry"] == ("", {"something": [1, 2]})
    assert events["message novel"][1] == {"message": {"role": "novel", "content": "?"}}
    assert [b.text for b in rounds[0].blocks() if isinstance(b, Event) and b.kind == "custom message"] == [
        "Two are open.",
        "beware",
    ]
    assert [b.text for b in rounds[0].blocks() if isinstance(b, Compaction)] == ["So far."]
    assert facts_before(rounds)[-1].title == "Files"


def test_a_fork_knows_the_session_it_came_from() -> None:
    path = "/home/ada/.pi/agent/sessions/--proj--/2026-01-01T00-00-00-000Z_01a00000-0000-7000-8000-00000000000f.jsonl"
    for field in ("parentSession", "branchedFrom"):
        (link,) = facts_before(read(lines(header(**{field: path}))))[-1].links
        assert (link.kind, link.session) == ("fork", "01a00000-0000-7000-8000-00000000000f")


def test_images_are_media() -> None:
    tree = Tree()
    tree.user([words("see"), {"type": "image", "data": "aGk=", "mimeType": "image/png"}])
    tree.user([{"type": "image", "data": "not base64", "mimeType": "image/png"}])
    first, second = read(tree.data)
    assert [b.media_type for b in first.blocks() if isinstance(b, Media)] == ["image/png"]
    assert [b.kind for b in second.blocks() if isinstance(b, Unknown)] == ["media"]


def test_damage_is_reported_and_nothing_behind_it_is_lost() -> None:
    tree = conversation()
    tree.entries.insert(3, b'{"type":"message","id":"x","mess')
    tree.entries.insert(4, b"\0" * 9)
    rounds = read(tree.data)
    assert [p.what[:8] for round_ in rounds for p in round_.problems("x")] == ["not JSON", "9 NUL by"]
    assert text_of(rounds[0].messages[-1]) == "One file."


def test_half_a_line_at_the_end_is_not_yet_there() -> None:
    data = conversation().data
    half = data + json.dumps({"type": "message"}).encode()[:-3]
    assert read(half) == read(data)
    whole = data[:-1]
    assert read(whole) == read(data)


def test_a_kind_that_is_no_word_is_kept_as_it_stands() -> None:
    tree = Tree()
    tree.user("go")
    tree.answer({"type": ["text"], "text": "x"}, words("done"))
    odd, said = read(tree.data)[0].messages[1].blocks
    assert isinstance(odd, Unknown)
    assert odd.value == {"type": ["text"], "text": "x"}
    assert isinstance(said, Text)


# -- what `pi --mode json` prints


def streamed() -> bytes:
    asked = {"role": "user", "content": [words("hello")], "timestamp": 1767323045000}
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
    told = {"role": "assistant", **ABOUT, "stopReason": "toolUse", "timestamp": 1767323046000}
    back = {"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": [words("a.txt")], "isError": False}
    short = {"summary": "We greeted.", "firstKeptEntryId": "x", "tokensBefore": 9}
    return lines(
        header(),
        {"type": "agent_start"},
        {"type": "message_start", "message": asked},
        {"type": "message_end", "message": asked},
        {"type": "message_start", "message": told | {"content": []}},
        {"type": "message_update", "assistantMessageEvent": {"type": "text_delta"}, "message": told | {"content": []}},
        {"type": "message_end", "message": told | {"content": [words("I look."), call]}},
        {"type": "tool_execution_end", "toolCallId": "c1", "result": {"content": [words("a.txt")]}, "isError": False},
        {"type": "message_end", "message": back},
        {"type": "turn_end", "message": told | {"content": [words("I look."), call]}, "toolResults": [back]},
        {"type": "compaction_end", "reason": "manual", "result": short, "aborted": False},
        {"type": "agent_end", "messages": [asked]},
    )


def test_a_stream_is_a_session_in_which_everything_is_said_once(tmp_path: Path) -> None:
    (round_,) = read(streamed())
    assert [(m.role, text_of(m), m.at) for m in round_.messages] == [
        ("user", "hello", "2026-01-02T03:04:05.000Z"),
        ("assistant", "I look.", "2026-01-02T03:04:06.000Z"),
    ]
    (tool,) = [block for block in round_.blocks() if isinstance(block, Tool)]
    assert (tool.name, tool.output) == ("bash", (Text("a.txt"),))
    assert [block.text for block in round_.blocks() if isinstance(block, Compaction)] == ["We greeted."]
    path = tmp_path / "out.jsonl"
    path.write_bytes(streamed())
    (found,) = sources.find_in(path, {"HOME": "/nowhere"})
    assert (found.source, found.session_id) == ("pi", SESSION)
    assert all(checked.lossless for checked in check.check_found(found))


def test_a_stream_is_written_as_a_kept_session() -> None:
    entries, losses = write(read(streamed()))
    assert not losses
    assert [entry["type"] for entry in entries] == ["session", "message", "message", "message", "compaction"]
