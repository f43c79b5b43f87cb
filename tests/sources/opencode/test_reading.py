"""What is read from a session of opencode, and written again."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import sources
from muniment.model import Compaction, Event, Facts, Loss, Media, Round, Text, Thinking, Tool, Unknown, Usage, codec
from muniment.model.rounds import text_of
from muniment.sources.base import HEAD_BYTES, Move
from muniment.sources.lines import records
from muniment.sources.opencode import SOURCE

from . import homes

FACTS = Facts("01c00000-0000-4000-8000-000000000001", "opencode", native_id=homes.NATIVE)
NEW = "99999999-9999-4999-8999-999999999999"


def read(document: Any, facts: Facts = FACTS) -> list[Round]:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return list(SOURCE.read(records(SOURCE.open("x.json", [data])), facts))


def fold(rounds: list[Round]) -> Facts:
    facts = FACTS
    for round_ in rounds:
        facts = facts.after(round_)
    return facts


def write(rounds: list[Round], facts: Facts, move: Move | None = None) -> tuple[dict[str, Any], list[Loss]]:
    media = {name: content for round_ in rounds for name, content in round_.media.items()}
    losses: list[Loss] = []
    return json.loads(b"".join(SOURCE.write(rounds, facts, move or Move(), media.__getitem__, losses))), losses


def session(*messages: dict[str, Any], **info: Any) -> dict[str, Any]:
    return {"info": homes.DOCUMENT["info"] | info, "messages": list(messages)}


def message(role: str, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    number = next(NUMBERS)
    named = [{"id": f"prt_{number}{position}"} | part for position, part in enumerate(parts)]
    return {"info": {"id": f"msg_{number}", "role": role, "time": {"created": 5}} | info, "parts": named}


NUMBERS = iter(range(10**6))
HELLO = {"type": "text", "text": "hello"}


@pytest.fixture
def rounds() -> list[Round]:
    return read(homes.DOCUMENT)


def test_the_sample_reads_as_its_conversation(rounds: list[Round]) -> None:
    assert [text_of(round_.prompt) for round_ in rounds if round_.prompt] == [
        "The fog horn is silent at night, see @horn.py and the picture.",
        "Then ask for zero or more.",
    ]
    kinds = [type(block) for block in rounds[0].blocks() if not isinstance(block, Event)]
    assert kinds == [Text, Unknown, Media, Thinking, Text, Tool, Tool, Text, Compaction]
    assert [tool.is_error for tool in rounds[0].blocks() if isinstance(tool, Tool)] == [False, True]


def test_the_facts_tell_title_folder_program_and_model(rounds: list[Round]) -> None:
    facts = fold(rounds)
    assert (facts.title, facts.title_by, facts.slug) == ("Fog horn is silent at night", "ai", "quiet-beacon")
    assert (facts.cwd, facts.client, facts.model) == ("/home/ada/lighthouse", "1.18.15", "claude-sonnet-4-6")
    assert (facts.started, facts.prompts) == ("2026-06-08T07:00:00.100Z", 2)


@pytest.mark.parametrize(
    ("tokens", "usage"),
    [
        ({"input": 1, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 5}}, Usage(1, 5, 4, 5)),
        ({"total": 15, "input": 1, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 5}}, Usage(1, 5, 4, 5)),
        ({"total": 12, "input": 1, "output": 2, "reasoning": 1, "cache": {"read": 4, "write": 5}}, Usage(1, 2, 4, 5)),
        ({"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}, None),
    ],
)
def test_reasoning_is_counted_once(tokens: dict[str, Any], usage: Usage | None) -> None:
    (round_,) = read(session(message("user", HELLO), message("assistant", HELLO, tokens=tokens)))
    assert round_.messages[1].usage == usage


def test_a_child_names_its_parent_and_a_call_its_child() -> None:
    state = {"status": "completed", "input": {}, "output": "done", "metadata": {"sessionId": "ses_child"}}
    call = {"type": "tool", "tool": "task", "callID": "c", "state": state}
    (round_,) = read(session(message("user", HELLO), message("assistant", call), parentID="ses_parent"))
    (tool,) = [block for block in round_.blocks() if isinstance(block, Tool)]
    child = read(session(message("user", HELLO), parentID="ses_parent"))
    assert len(tool.sidechain or "") == 36
    assert [link.kind for link in fold(child).links] == ["parent"]


def test_a_call_that_was_interrupted_has_no_result() -> None:
    call = {"type": "tool", "tool": "bash", "callID": "c", "state": {"status": "running", "input": {"command": "x"}}}
    made = read(session(message("user", HELLO), message("assistant", call)))
    (tool,) = [block for block in made[0].blocks() if isinstance(block, Tool)]
    assert (tool.output, tool.is_error) == (None, None)
    assert write(made, fold(made))[0]["messages"][1]["parts"][0]["state"]["status"] == "running"


def test_what_is_not_known_is_kept_and_written_again() -> None:
    odd = {"type": "hologram", "id": "prt_h", "beams": [1, 2]}
    made = read(session(message("user", HELLO), message("assistant", odd), message("assistant")))
    assert [b.value for b in made[0].blocks() if isinstance(b, Unknown)] == [{"type": "hologram", "beams": [1, 2]}]
    messages = write(made, fold(made))[0]["messages"]
    ids = {"sessionID": homes.NATIVE, "messageID": messages[1]["info"]["id"]}
    assert messages[1]["parts"] == [odd | ids]
    assert len(messages) == 3


def test_what_was_taken_back_is_told() -> None:
    made = read(session(message("user", HELLO), revert={"messageID": "msg_7"}))
    assert [b.text for b in made[0].blocks() if isinstance(b, Event) and b.kind == "revert"] == [
        "what follows msg_7 was taken back"
    ]


def test_messages_on_lines_of_their_own_are_read_too() -> None:
    data = b"".join(json.dumps(m).encode() + b"\n" for m in homes.DOCUMENT["messages"])
    assert [text_of(r.prompt) for r in read(data) if r.prompt] == [
        text_of(r.prompt) for r in read(homes.DOCUMENT) if r.prompt
    ]


def test_damage_in_one_message_costs_no_other() -> None:
    data = json.dumps(homes.DOCUMENT, indent=2).encode()
    broken = data.replace(b'"tool": "grep"', b'"tool": grep')
    rounds = read(broken)
    assert [problem.what[:8] for r in rounds for problem in r.problems("x")] == ["not JSON"]
    assert [text_of(r.prompt) for r in rounds if r.prompt][1:] == ["Then ask for zero or more."]


@settings(max_examples=100)
@given(st.data())
def test_a_document_cut_anywhere_reads_as_far_as_it_goes(data: st.DataObject) -> None:
    whole = homes.EXPORT.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    rounds = read(whole[:cut])
    assert rounds[:-1] == read(homes.DOCUMENT)[: len(rounds) - 1] or len(rounds) == 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
NAMES = st.sampled_from(["type", "text", "state", "id", "url", "tool", "callID", "metadata", "synthetic", "mime"])
TYPES = st.sampled_from(["text", "reasoning", "tool", "file", "compaction", "subtask", "retry", "odd"])
PARTS = st.builds(lambda kind, fields: fields | {"type": kind}, TYPES, st.dictionaries(NAMES, VALUES, max_size=4))


@settings(max_examples=150)
@given(st.sampled_from(["user", "assistant", "x"]), st.lists(PARTS, max_size=3), st.dictionaries(NAMES, VALUES))
def test_no_content_of_a_message_makes_it_fail(role: str, parts: list[dict[str, Any]], info: dict[str, Any]) -> None:
    document = session({"info": info | {"role": role, "id": "msg_x"}, "parts": parts})
    rounds = read(document)
    assert all(codec.encode(round_) for round_ in rounds)
    write(rounds, fold(rounds))
    list(SOURCE.claims(json.dumps(document["messages"][0]).encode()))


def test_a_written_session_has_all_that_an_import_asks_for(rounds: list[Round]) -> None:
    facts = Facts(NEW, "codex", started="2026-01-01T00:00:00Z", first_prompt="hello", model="gpt-5")
    made, _ = write(rounds, facts)
    assert {"id", "slug", "title", "version", "time"} <= made["info"].keys()
    assert made["info"]["id"] == f"ses_{NEW}"
    times = [m["info"]["time"]["created"] for m in made["messages"]]
    assert times == sorted(times)
    for one in made["messages"]:
        needed = {"id", "sessionID", "role", "agent", "time"}
        answer = {"parentID", "modelID", "providerID", "mode", "path", "cost", "tokens"}
        assert needed | (answer if one["info"]["role"] == "assistant" else {"model"}) <= one["info"].keys()
        for part in one["parts"]:
            assert {"id", "messageID", "sessionID", "type"} <= part.keys()
            if part["type"] == "tool":
                assert {"status", "input", "title", "metadata", "time"} <= part["state"].keys()
    ids = [part["id"] for one in made["messages"] for part in one["parts"]]
    assert len(ids) == len(set(ids))


def test_a_fork_shares_no_id_with_its_origin(rounds: list[Round]) -> None:
    made, _ = write(rounds, fold(rounds), Move(session_id=NEW))
    old = {m["info"]["id"] for m in homes.DOCUMENT["messages"]}
    assert made["info"]["id"] == f"ses_{NEW}"
    assert not old & {m["info"]["id"] for m in made["messages"]}
    asked = {m["info"]["id"] for m in made["messages"]}
    assert {m["info"]["parentID"] for m in made["messages"] if m["info"]["role"] == "assistant"} <= asked


def test_what_was_allowed_is_not_written() -> None:
    document = copy.deepcopy(homes.DOCUMENT)
    document["info"]["permission"] = [{"permission": "bash", "pattern": "*", "action": "allow"}]
    made = read(document)
    assert "permission" not in write(made, fold(made))[0]["info"]


def test_an_original_goes_to_another_folder(rounds: list[Round]) -> None:
    name, pieces = SOURCE.moved(
        f"exported/{homes.NATIVE}.json", [homes.EXPORT.read_bytes()], fold(rounds), Move(NEW, "/proj/new")
    )
    made = json.loads(b"".join(pieces))
    assert name == f"exported/ses_{NEW}.json"
    assert made["info"]["directory"] == "/proj/new"
    assert {m["info"]["path"]["cwd"] for m in made["messages"] if "path" in m["info"]} == {"/proj/new"}
    assert {m["info"]["sessionID"] for m in made["messages"]} == {f"ses_{NEW}"}
    old = {m["info"]["id"] for m in homes.DOCUMENT["messages"]}
    assert not old & {m["info"]["id"] for m in made["messages"]}


# -- recognising


def export(info: dict[str, Any], indent: int | None = 2) -> bytes:
    return json.dumps({"info": info, "messages": homes.DOCUMENT["messages"]}, indent=indent).encode()


DIFFS = {"additions": 1, "diffs": [{"file": "a", "before": '{"id": "ses_not_this"}', "after": 'x "}" \\'}]}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "before",
    [
        {"time": {"created": 1, "updated": 2}},
        {"summary": DIFFS},
        {"parent": {"id": "ses_another", "sessionID": "ses_another"}, "title": 'a {"brace'},
        {"permission": [{"id": "ses_another"}, []], "time": {}},
    ],
    ids=["an object", "diffs", "another session", "a list"],
)
def test_an_export_is_known_whatever_stands_before_its_id(
    before: dict[str, Any], indent: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "talk.json"
    path.write_bytes(export(before | homes.DOCUMENT["info"], indent))
    assert sources.recognise(path) is SOURCE
    (found,) = SOURCE.gather([path], tmp_path, [])
    assert found.native_id == homes.NATIVE


def test_an_export_is_known_if_diffs_fill_its_head(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    diffs = {"diffs": [{"after": "} ] " * HEAD_BYTES}]}
    path.write_bytes(export({"id": homes.NATIVE, "slug": "s", "summary": diffs}))
    assert sources.recognise(path) is SOURCE
    path.write_bytes(json.dumps({"info": {"id": homes.NATIVE, "slug": "s"}}).encode())
    assert sources.recognise(path) is None


def test_other_documents_with_such_a_beginning_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "api.json"
    path.write_text(json.dumps({"info": {"title": "An API", "contact": {"id": "ses_1"}}, "messages": []}))
    assert sources.recognise(path) is None
