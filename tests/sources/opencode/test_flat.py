"""Sessions of opencode 2: one flat record for every message, and for what happens around them."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import sources
from muniment.check import Checked, check_transcript
from muniment.model import Compaction, Event, Facts, Media, Round, Text, Thinking, Tool, Unknown, Usage
from muniment.model.rounds import text_of
from muniment.sources.base import Move, SourceFile
from muniment.sources.lines import records
from muniment.sources.opencode import SOURCE

from . import homes

FACTS = Facts("02c00000-0000-4000-8000-000000000002", "opencode", native_id=homes.FLAT_ID)
NEW = "99999999-9999-4999-8999-999999999999"


def read(document: Any) -> list[Round]:
    return list(SOURCE.read(records(SOURCE.open("x.json", [json.dumps(document).encode()])), FACTS))


def fold(rounds: list[Round]) -> Facts:
    facts = FACTS
    for round_ in rounds:
        facts = facts.after(round_)
    return facts


def written(document: Any, move: Move | None = None) -> dict[str, Any]:
    rounds = read(document)
    media = {name: content for round_ in rounds for name, content in round_.media.items()}
    return json.loads(b"".join(SOURCE.write(rounds, fold(rounds), move or Move(), media.__getitem__, [])))


def session(*messages: Any) -> dict[str, Any]:
    return homes.FLAT | {"messages": list(messages)}


def answer(*content: Any, **fields: Any) -> dict[str, Any]:
    return homes.record(3, "assistant", agent="build", model={"id": "m"}, content=list(content), **fields)


def checked(document: Any) -> Checked:
    data = json.dumps(document).encode()
    return check_transcript(SOURCE, FACTS, SourceFile("x.json", "x.json", "main", len(data), 0), lambda: [data])


def tools(rounds: list[Round]) -> list[Tool]:
    return [block for round_ in rounds for block in round_.blocks() if isinstance(block, Tool)]


@pytest.fixture
def rounds() -> list[Round]:
    return read(homes.FLAT)


def test_an_export_is_opencodes(tmp_path: Any) -> None:
    assert sources.recognise(homes.exported(tmp_path)) is SOURCE


def test_it_reads_as_its_conversation(rounds: list[Round]) -> None:
    assert [text_of(round_.prompt) for round_ in rounds if round_.prompt] == [
        "Why does the lamp turn too fast?",
        "Then set it to three.",
    ]
    asked, said, failed, *_ = rounds[0].messages
    assert [type(block) for block in asked.blocks if not isinstance(block, Event)] == [Text, Media, Media, Unknown]
    kinds = [type(block) for block in said.blocks if not isinstance(block, Event)]
    assert kinds == [Thinking, Thinking, Text, Tool, Tool, Tool, Unknown]
    assert [block.signature for block in said.blocks if isinstance(block, Thinking)] == ["bGFtcA==", "c2VhbGVk"]
    assert [(b.kind, b.text) for b in failed.blocks if isinstance(b, Event) and b.text] == [
        ("error", "the provider sleeps")
    ]


def test_calls_have_their_results(rounds: list[Round]) -> None:
    by_id = {tool.id: tool for tool in tools(rounds)}
    assert by_id["c1"].output == (Text("speed: 9\n"),)
    assert len(by_id["c1"].sidechain or "") == 36
    assert (by_id["c2"].output, by_id["c2"].is_error) == ((Text("no such motor"),), True)
    assert [type(told) for told in by_id["c3"].output or ()] == [Media]


def test_a_command_of_the_person_is_a_call(rounds: list[Round]) -> None:
    by_id = {tool.id: tool for tool in tools(rounds)}
    ran = by_id["sh_1"]
    assert (ran.name, ran.input, ran.output, ran.is_error) == ("shell", {"command": "ls"}, (Text("lamp.py\n"),), False)
    assert by_id["sh_2"].output is None


def test_what_happens_around_it_is_quiet_and_what_went_wrong_is_shown(rounds: list[Round]) -> None:
    around = [block for block in rounds[0].blocks() if isinstance(block, Event) and block.kind.startswith("record ")]
    assert {block.kind for block in around if not block.text} == {
        f"record {kind}"
        for kind in ("agent-switched", "idle", "synthetic", "system", "skill", "model-switched", "location-switched")
    }
    assert [block.text for block in around if block.text] == ["the summary was refused"]
    assert [block.text for block in rounds[0].blocks() if isinstance(block, Compaction)] == [
        "The lamp turns at speed nine."
    ]
    unheard = [block.value for block in rounds[0].blocks() if isinstance(block, Unknown) and block.kind == "message"]
    assert unheard == [record for record in homes.FLAT["messages"] if record["type"] == "hologram"]


def test_titles_times_models_and_tokens_are_told(rounds: list[Round]) -> None:
    facts = fold(rounds)
    assert (facts.title, facts.first_cwd, facts.cwd) == (
        "The lamp turns too fast",
        "/home/ada/lighthouse",
        "/home/ada/tower",
    )
    _, said, *_ = rounds[0].messages
    assert (said.at, said.model, said.usage) == ("2026-09-21T14:13:23.000Z", "claude-sonnet-5", Usage(10, 7, 3, 1))


def test_it_is_written_as_it_was() -> None:
    assert written(homes.FLAT) == homes.FLAT
    untitled = homes.FLAT | {"info": {"id": homes.FLAT_ID, "location": {"directory": "/home/ada/lighthouse"}}}
    assert written(untitled) == untitled


def test_a_part_of_it_has_what_an_import_asks_for(rounds: list[Round]) -> None:
    made = json.loads(b"".join(SOURCE.write(rounds[1:], fold(rounds), Move(), {}.__getitem__, [])))
    assert {"id", "projectID", "cost", "tokens", "time", "location"} <= made["info"].keys()
    assert made["info"]["location"] == {"directory": "/home/ada/lighthouse"}
    assert [record["type"] for record in made["messages"]] == ["user", "assistant", "idle"]


ODD: list[Any] = [
    homes.call("d1", "completed", content=[homes.words("one"), homes.words("two")]),
    homes.call("d2", "error", error={"type": "text", "message": "no"}, content=[homes.words("half"), homes.PICTURE]),
    homes.call("d3", "error", error="plain"),
    homes.call("d4", "error", content=[homes.words("without a reason")]),
    homes.call("d5", "completed", content="plain"),
    homes.call("d6", "completed", content=[]),
    homes.call("d7", "completed"),
    homes.call("d8", "completed", content=[{"type": "file", "uri": "file:///x", "mime": "a/b"}, 7]),
    homes.call("d9", "running", metadata={"exit": None}),
    homes.call("d10", "completed", content=[homes.words("")], structured={"lines": [1]}) | {"callID": "other"},
    {"type": "tool", "id": "d11", "name": "shell", "state": {"status": "streaming", "input": '{"comm'}},
    {"type": "tool", "id": 7, "name": "shell", "state": {"status": "completed"}},
    {"type": "text", "text": "\n\n", "native": {"itemId": "i"}},
    {"type": "text", "text": ["no words"]},
    {"type": "reasoning", "text": "", "time": {"created": 1}},
    {"type": ["x"]},
    "a string",
    None,
]


@pytest.mark.parametrize("piece", ODD, ids=repr)
def test_an_odd_piece_is_kept_and_written_again(piece: Any) -> None:
    document = session(homes.record(1, "user", text="hello"), answer(piece))
    assert written(document) == document
    report = checked(document)
    assert report.lossless, (report.export, report.document)


RECORDS: list[Any] = [
    *homes.FLAT["messages"],
    *homes.DOCUMENT["messages"][:5],
    *homes.NESTED["messages"],
    homes.record(31, "user", text=""),
    homes.record(32, "user", text="files that are none", files={"a": 1}),
    homes.record(33, "user", text=["no words"]),
    homes.record(34, "user", text="odd files", files=[7, {"data": "no base64!", "mime": "x y"}, {"data": ""}, {}]),
    homes.record(35, "assistant", content="no list"),
    homes.record(36, "shell", command="ls", output="plain", callID="c"),
    homes.record(37, "shell", command="ls", output={"size": 3}, status="killed"),
    homes.record(38, "shell", command="ls", output=[1], status="exited", exit=3),
    homes.record(39, "shell"),
    homes.record(40, "compaction", summary=""),
    homes.record(41, "compaction", summary=7),
    homes.record(42, "head", text="not the head"),
    {"type": "user", "text": "without an id"},
    {"type": "assistant", "content": [*ODD, {"type": "text", "text": "nor this"}]},
    {"type": "idle"},
    {"type": 7},
    {"id": "msg_bare"},
    {"never": "heard of"},
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(RECORDS), max_size=8), st.booleans())
def test_any_mixture_of_records_is_without_loss(mixed: list[Any], flat: bool) -> None:
    named = [copy.deepcopy(record) for record in mixed]
    for number, record in enumerate(named):
        if isinstance(record.get("id"), str):
            record["id"] += f"x{number}"
    document = {"info": (homes.FLAT if flat else homes.DOCUMENT)["info"], "version": 2, "messages": named, "end": [1]}
    report = checked(document)
    assert report.lossless, (report.export, report.document, report.stable)
    assert report.problems == []
    assert not [field for field, tally in report.export.items() if not tally.kept and field != "parent"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
NAMES = ["", "id", "text", "state", "native", "name", "files", "output", "summary", "error", "time", "model", "tokens"]
FIELDS = st.dictionaries(st.sampled_from([*NAMES, "command", "status", "location", "callID", "recent"]), VALUES)
PIECES = st.builds(lambda kind, fields: fields | {"type": kind}, st.sampled_from(["text", "reasoning", "tool"]), FIELDS)
KINDS = st.sampled_from(["user", "assistant", "shell", "compaction", "idle", "location-switched", "x", ""])


@settings(max_examples=150, deadline=None)
@given(KINDS, FIELDS, st.none() | st.lists(PIECES, max_size=3))
def test_no_content_of_a_record_makes_it_fail_or_is_lost(kind: str, fields: dict[str, Any], content: Any) -> None:
    odd = fields | {"type": kind} | ({} if content is None else {"content": content})
    report = checked(session(homes.record(1, "user", text="hello"), odd, homes.record(2, "idle")))
    assert report.lossless, (report.export, report.document, report.stable)


def test_a_fork_shares_no_id_with_its_origin() -> None:
    made = written(homes.FLAT, Move(NEW, "/proj/new"))
    assert made["info"]["id"] == f"ses_{NEW}"
    assert made["info"]["location"] == {"directory": "/proj/new"}
    old = {record["id"] for record in homes.FLAT["messages"]}
    new = [record["id"] for record in made["messages"]]
    assert len(new) == len(set(new)) == len(old)
    assert not old & set(new)


def test_an_original_goes_to_another_folder() -> None:
    name, pieces = SOURCE.moved(
        f"exported/{homes.FLAT_ID}.json", [json.dumps(homes.FLAT).encode()], fold(read(homes.FLAT)), Move(NEW, "/p")
    )
    made = json.loads(b"".join(pieces))
    assert (name, made["info"]["id"]) == (f"exported/ses_{NEW}.json", f"ses_{NEW}")
    assert made["info"]["location"]["directory"] == "/p"
    assert not {r["id"] for r in made["messages"]} & {r["id"] for r in homes.FLAT["messages"]}
