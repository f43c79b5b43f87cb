"""Sessions written for pi: what the client needs, and what is told of the rest."""

import json
from typing import Any

import pytest

from muniment import check
from muniment.model import Compaction, Event, Facts, Message, Round, Text, Thinking, Tool, Unknown, Usage
from muniment.model.rounds import text_of
from muniment.sources.base import Move, SourceFile
from muniment.sources.pi import SOURCE

from .sessions import ABOUT, FACTS, SESSION, Tree, call, header, lines, read, words, write
from .test_read import conversation

OTHER = Facts("02b00000-0000-7000-8000-000000000002", "another", first_cwd="/proj/lib", cwd="/proj/lib")


def test_an_own_session_comes_back_entry_by_entry() -> None:
    tree = conversation()
    tree.add("custom", customType="todo", data={"open": 2})
    tree.add("novel_entry", something=[1, 2])
    tree.add("message", message={"role": "custom", "customType": "hook", "content": "beware", "display": True})
    made, losses = write(read(tree.data))
    assert losses == []
    given = [json.loads(line) for line in tree.data.splitlines()]
    for entry in (*made, *given):
        entry.get("message", {}).pop("timestamp", None)
    assert made == given


def test_what_a_hook_said_in_version_2_is_not_lost_under_its_new_name() -> None:
    tree = conversation()
    tree.add("message", message={"role": "hookMessage", "customType": "hook", "content": "beware", "display": True})
    file = SourceFile("/x.jsonl", "x.jsonl", "main", len(tree.data), 0)
    checked = check.check_transcript(SOURCE, FACTS, file, lambda: [tree.data])
    assert checked.lossless, checked


def test_signatures_of_texts_and_calls_come_back() -> None:
    tree = Tree()
    tree.user("go")
    tree.answer({**words("hi"), "textSignature": "ts"}, call("c1", "ls", thoughtSignature="th"), stop="toolUse")
    made, _ = write(read(tree.data))
    text, tool = made[2]["message"]["content"]
    assert (text["textSignature"], tool["thoughtSignature"]) == ("ts", "th")


def test_a_linear_session_becomes_a_tree_with_the_same_first_kept_entry() -> None:
    tree = conversation(linear=True)
    tree.add("compaction", summary="So far.", firstKeptEntryIndex=3, tokensBefore=9)
    tree.user("on")
    made, _ = write(read(tree.data))
    assert made[0]["version"] == 3
    assert [entry["parentId"] for entry in made[1:]] == [None, *(entry["id"] for entry in made[1:-1])]
    (cut,) = (entry for entry in made if entry["type"] == "compaction")
    assert cut["firstKeptEntryId"] == made[3]["id"]
    assert "firstKeptEntryIndex" not in cut


def test_an_entry_whose_parent_cannot_be_written_follows_the_one_before() -> None:
    tree = conversation()
    tree.entries[4] = b'{"type":"message","id":"00000004","half'
    made, losses = write(read(tree.data))
    ids = {entry["id"] for entry in made}
    assert all(entry["parentId"] is None or entry["parentId"] in ids for entry in made[1:])
    assert [(loss.what, loss.count) for loss in losses] == [("damaged line", 1)]


def foreign(*messages: Message) -> list[Round]:
    return [Round(1, messages, prompted=True)]


def test_a_foreign_session_is_one_chain_that_the_client_takes() -> None:
    tool = Tool("t1", "Bash", {"command": "ls"}, (Text("a.txt"),), is_error=False)
    rounds = foreign(
        Message("user", "2026-01-02T03:04:05.000Z", (Text("list"),)),
        Message("assistant", None, (Text("I look."), tool), model="claude-x", usage=Usage(1, 2, 3, 4)),
        Message("user", None, (Text("quickly"),), queued=True),
        Message("assistant", None, (Text("One."),)),
    )
    made, losses = write(rounds, OTHER)
    assert losses == []
    assert (made[0]["cwd"], made[0]["id"]) == ("/proj/lib", OTHER.session_id)
    assert [entry["parentId"] for entry in made[1:]] == [None, *(entry["id"] for entry in made[1:-1])]
    answer = made[2]["message"]
    assert (answer["provider"], answer["usage"]["totalTokens"], answer["stopReason"]) == ("anthropic", 10, "toolUse")
    assert all("usage" in entry["message"] for entry in made[1:] if entry["message"]["role"] == "assistant")
    (again,) = read(lines(*made))
    assert [text_of(message) for message in again.messages if message.queued] == ["quickly"]


def test_what_was_written_from_another_agents_session_is_written_again_as_it_is() -> None:
    """A prompt behind an answer that waited for its tools says that it is none of steering, each time anew."""
    tool = Tool("t1", "Bash", {"command": "ls"})
    asked = [Message("user", None, (Text("go"),)), Message("assistant", None, (tool,))]
    made, _ = write([Round(1, tuple(asked), prompted=True), Round(2, tuple(asked), prompted=True)], OTHER)
    rounds = read(lines(*made))
    again, _ = write(rounds)
    assert [entry.get("queued") for entry in made if entry["type"] == "message"] == [None, None, False, None]
    assert [entry.get("queued") for entry in again] == [entry.get("queued") for entry in made]
    assert len(read(lines(*again))) == len(rounds) == 2


def test_a_prompt_behind_an_unanswered_call_stays_a_prompt() -> None:
    called = Message("assistant", None, (Tool("t1", "Bash", {}, (Text("x"),)),))
    rounds = [
        Round(1, (Message("user", None, (Text("one"),)), called), prompted=True),
        Round(2, (Message("user", None, (Text("two"),)),), prompted=True),
    ]
    made, _ = write(rounds, OTHER)
    assert [text_of(round_.prompt) for round_ in read(lines(*made)) if round_.prompt] == ["one", "two"]


@pytest.mark.parametrize(
    ("model", "thought", "written", "lost"),
    [
        ("claude-x", Thinking("hm", "sig"), {"thinking": "hm", "thinkingSignature": "sig"}, []),
        ("gpt-5.5", Thinking("hm", "sig"), {"thinking": "hm"}, ["signature"]),
        ("gpt-5.5", Thinking("", "sig"), None, ["sealed thinking"]),
        ("gpt-5.5", Thinking("hm"), {"thinking": "hm"}, []),
    ],
)
def test_thinking_keeps_its_words_and_its_signature_only_for_its_provider(
    model: str, thought: Thinking, written: dict[str, str] | None, lost: list[str]
) -> None:
    asked = Message("user", None, (Text("why"),))
    made, losses = write(foreign(asked, Message("assistant", None, (thought, Text("so")), model=model)), OTHER)
    first = made[2]["message"]["content"][0]
    assert ({"type": "thinking"} | written if written else words("so")) == first
    assert [loss.what for loss in losses] == lost


def test_what_does_not_fit_is_counted() -> None:
    blocks = (
        Event("hook", "a hook spoke"),
        Event("mode"),
        Unknown("damaged", damage="not JSON"),
        Unknown("novel", {"x": 1}),
        Compaction("So far."),
        Tool("t1", "Task", "plain", (Unknown("value", [1]),), sidechain="agent-1"),
    )
    rounds = foreign(
        Message("user", None, (Text("go"),)),
        Message("assistant", None, blocks, cwd="/elsewhere"),
        Message("assistant", None, (Text("inner"),), sidechain="s1"),
        Message("assistant", None, (), usage=Usage(1)),
    )
    made, losses = write(rounds, OTHER)
    assert sorted(loss.what for loss in losses) == [
        "bare input of a call",
        "change of the working folder",
        "damaged line",
        "event: hook",
        "link to a subagent",
        "message of a subagent",
        "part of a result: value",
        "part: novel",
        "quiet events: mode",
        "tokens of an answer without content",
    ]
    cut = next(entry for entry in made if entry["type"] == "compaction")
    assert (cut["summary"], cut["firstKeptEntryId"]) == ("So far.", cut["id"])
    (answer,) = (e["message"] for e in made if e.get("message", {}).get("role") == "assistant")
    assert answer["content"][0]["arguments"] == {"input": "plain"}


def checked(*entries: dict[str, Any]) -> check.Checked:
    data = lines(header(), *entries)
    file = SourceFile("/x.jsonl", "x.jsonl", "main", len(data), 0)
    return check.check_transcript(SOURCE, FACTS, file, lambda: [data])


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("timed", [{}, {"timestamp": "2026-01-02T03:04:05.000Z"}])
def test_entries_without_times_or_with_the_same_are_found_again(named: bool, timed: dict[str, str]) -> None:
    said = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": [call("c1", "ls"), call("c2", "pwd")], **ABOUT},
        {"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": [words("a.txt")]},
        {"role": "toolResult", "toolCallId": "c2", "toolName": "bash", "content": [words("/proj")]},
        {"role": "assistant", "content": [words("Two.")], **ABOUT},
        {"role": "user", "content": "three"},
    ]
    ids = [f"{number:08x}" for number in range(len(said))]
    places = [{"id": id_, "parentId": parent} if named else {} for id_, parent in zip(ids, [None, *ids], strict=False)]
    found = checked(
        *({"type": "message", **place, **timed, "message": one} for place, one in zip(places, said, strict=True))
    )
    assert found.lossless
    assert (found.export["text"].equal, found.export["tool output"].equal, found.export["model"].equal) == (3, 2, 2)


def test_a_written_session_lies_where_the_client_looks() -> None:
    facts = Facts(SESSION, "pi", started="2026-01-02T04:04:05.678+01:00", first_cwd="/home/ada/my app")
    assert SOURCE.place(facts, Move()) == f"sessions/--home-ada-my app--/2026-01-02T03-04-05-678Z_{SESSION}.jsonl"
    assert SOURCE.place(facts, Move(cwd="C:\\proj")).startswith("sessions/--C--proj--/")


def test_a_moved_file_changes_nothing_but_its_header() -> None:
    data = lines(header(parentSession="/x/y.jsonl"), {"type": "message", "cwd": "/proj/app"})
    name = f"sessions/--proj-app--/2026-01-02T03-00-00-000Z_{SESSION}.jsonl"
    new = "03c00000-0000-7000-8000-000000000003"
    moved, pieces = SOURCE.moved(name, [data], Facts(SESSION, "pi"), Move(session_id=new, cwd="/proj/new"))
    assert moved == f"sessions/--proj-new--/2026-01-02T03-00-00-000Z_{new}.jsonl"
    first, rest = b"".join(pieces).split(b"\n", 1)
    assert json.loads(first) == header(id=new, cwd="/proj/new", parentSession="/x/y.jsonl")
    assert rest == data.split(b"\n", 1)[1]


def test_a_fork_keeps_the_conversation_under_a_new_identity() -> None:
    made, _ = write(read(conversation().data), move=Move(session_id="new-id", cwd="/proj/new"))
    assert (made[0]["id"], made[0]["cwd"]) == ("new-id", "/proj/new")
