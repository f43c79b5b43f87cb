"""Trajectories: their steps as a conversation, and a conversation as steps."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import demo
from muniment.archive import Archive
from muniment.model import (
    Compaction,
    Event,
    Facts,
    Loss,
    Media,
    Message,
    Round,
    Text,
    Thinking,
    Tool,
    Unknown,
    Usage,
    codec,
)
from muniment.model.rounds import text_of
from muniment.sources.atif import SOURCE
from muniment.sources.base import Move
from muniment.sources.lines import records

SAMPLE = next((demo.SAMPLES / "atif").rglob("*.json"))
FACTS = Facts("01d00000-0000-4000-8000-000000000001", "atif")


def read(document: Any, facts: Facts = FACTS) -> list[Round]:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return list(SOURCE.read(records(SOURCE.open("x.json", [data])), facts))


def write(rounds: list[Round], facts: Facts = FACTS) -> dict[str, Any]:
    losses: list[Loss] = []
    for round_ in rounds:
        facts = facts.after(round_)
    return json.loads(b"".join(SOURCE.write(rounds, facts, Move(), {}.__getitem__, losses)))


def trajectory(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    numbered = [{"step_id": number} | step for number, step in enumerate(steps, 1)]
    head = {"schema_version": "ATIF-v1.7", "session_id": "run 7", "agent": {"name": "keeper", "version": "1"}}
    return head | {"steps": numbered} | fields


def user(message: Any, **fields: Any) -> dict[str, Any]:
    return {"source": "user", "message": message} | fields


def agent(message: Any = "", **fields: Any) -> dict[str, Any]:
    return {"source": "agent", "message": message} | fields


def test_the_sample_reads_as_its_conversation() -> None:
    rounds = read(SAMPLE.read_bytes())
    assert [text_of(round_.prompt) for round_ in rounds if round_.prompt] == [
        "Write the hour of sunset into the log.",
        "And sunrise?\n\nOnly the hour, please.",
    ]
    kinds = [type(block) for block in rounds[0].blocks() if not isinstance(block, Event)]
    assert kinds == [Text, Thinking, Text, Tool, Tool, Tool, Text, Compaction]
    assert rounds[0].messages[1].usage == Usage(200, 45, 500)


def test_a_trajectory_written_again_is_the_same() -> None:
    assert write(read(SAMPLE.read_bytes())) == json.loads(SAMPLE.read_bytes())


def test_a_part_of_a_trajectory_is_one_too() -> None:
    rounds = read(trajectory(user("one"), agent("1"), user("two"), agent("2")))
    made = write(rounds[1:], Facts(FACTS.session_id, "atif", native_id="run 7"))
    assert (made["session_id"], made["agent"]) == ("run 7", {"name": "atif", "version": "unknown"})
    assert [step["message"] for step in made["steps"]] == ["two", "2"]
    assert SOURCE.matches(Path("x.json"), json.dumps(made).encode())


def test_what_was_seen_without_a_call_is_kept() -> None:
    seen = {"results": [{"content": "a terminal"}, {"subagent_trajectory_ref": [{"session_id": "s"}]}]}
    document = trajectory(user("go"), agent("typing", observation=seen))
    rounds = read(document)
    (tool,) = [block for block in rounds[0].blocks() if isinstance(block, Tool)]
    assert (tool.name, tool.output) == (None, (Text("a terminal"),))
    assert write(rounds) == document


def test_subagents_inside_the_document_are_read() -> None:
    inner = trajectory(user("look"), agent("nothing there"), trajectory_id="scout")
    document = trajectory(user("go"), agent("sent a scout"), subagent_trajectories=[inner], notes="n")
    rounds = read(document)
    assert [text_of(m) for m in rounds[0].messages if m.sidechain == "scout"] == ["look", "nothing there"]
    assert write(rounds) == document
    line = b"]" + json.dumps({"subagent_trajectories": [inner]}).replace("{", ",", 1).encode()
    assert {claim.value for claim in SOURCE.claims(line) if claim.field == "text"} == {"look", "nothing there"}


def test_images_are_named_and_kept() -> None:
    image = {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}}
    document = trajectory(user([{"type": "text", "text": "see"}, image]))
    rounds = read(document)
    assert [b.value for b in rounds[0].blocks() if isinstance(b, Unknown)] == [image]
    assert write(rounds) == document


def test_a_continuation_is_a_session_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(trajectory(user("go"))))
    continued = trajectory(user("go on"), agent={"name": "k", "version": "1", "extra": {"continuation_index": 1}})
    names = ("schema_version", "session_id", "agent", "steps")
    (tmp_path / "b.json").write_text(json.dumps({name: continued[name] for name in names}))
    found = list(SOURCE.gather(sorted(tmp_path.iterdir()), tmp_path, []))
    assert len({session.session_id for session in found}) == 2


def test_damage_in_one_step_costs_no_other() -> None:
    data = SAMPLE.read_bytes().replace(b'"call_sun_3"', b"call_sun_3", 1)
    rounds = read(data)
    assert len([problem for r in rounds for problem in r.problems("x")]) == 1
    assert [text_of(r.prompt) for r in rounds if r.prompt][1] == "And sunrise?\n\nOnly the hour, please."


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
NAMES = st.sampled_from(
    ["message", "source", "observation", "tool_calls", "metrics", "extra", "timestamp", "reasoning_content", "step_id"]
)


@settings(max_examples=150)
@given(st.sampled_from(["user", "agent", "system"]), st.dictionaries(NAMES, VALUES, max_size=5))
def test_no_content_of_a_step_makes_it_fail(source: str, fields: dict[str, Any]) -> None:
    step = {"source": source} | fields
    rounds = read(trajectory(user("go"), step))
    assert all(codec.encode(round_) for round_ in rounds)
    write(rounds)
    list(SOURCE.claims(json.dumps(step).encode()))


@pytest.mark.parametrize("head", [b'{"schema_version":"2"}', b'["ATIF-v1.7"]', b'x "schema_version":"ATIF-v1.7"'])
def test_other_documents_are_not_claimed(head: bytes) -> None:
    assert not SOURCE.matches(Path("x.json"), head)


# -- moving


def moved(document: bytes, move: Move, facts: Facts = FACTS) -> tuple[str, dict[str, Any]]:
    name, pieces = SOURCE.moved("trajectories/run 7.json", [document], facts, move)
    return name, json.loads(b"".join(pieces))


def test_a_moved_trajectory_has_another_folder_and_the_same_steps() -> None:
    whole = trajectory(user('cd "cwd": "/proj/old"'), extra={"cwd": "/proj/old", "title": "x"})
    head = {"extra": whole.pop("extra")} | whole
    name, made = moved(json.dumps(head, indent=2).encode(), Move(cwd='/proj/"new"'))
    assert name == "trajectories/run 7.json"
    assert made == head | {"extra": {"cwd": '/proj/"new"', "title": "x"}}


def test_a_forked_trajectory_has_another_identity_and_name() -> None:
    head = {"trajectory_id": "t \\ 1"} | trajectory(user("go"))
    name, made = moved(json.dumps(head).encode(), Move(session_id="99999999-0000"))
    assert name == "trajectories/99999999-0000.json"
    assert made == head | {"trajectory_id": "99999999-0000", "session_id": "99999999-0000"}


def test_a_forked_trajectory_without_an_identity_gets_one() -> None:
    head = trajectory(user("go"))
    del head["session_id"]
    assert moved(json.dumps(head).encode(), Move(session_id="99"))[1] == head | {"session_id": "99"}


def test_an_observation_that_says_nothing_is_a_result() -> None:
    call = {"tool_call_id": "c1", "function_name": "run", "arguments": {}}
    told = trajectory(
        user("go"), agent(tool_calls=[call], observation={"results": [{"source_call_id": "c1", "content": ""}]})
    )
    (round_,) = read(told)
    (tool,) = (block for block in round_.blocks() if isinstance(block, Tool))
    assert tool.output == ()
    assert write([round_]) == told


def test_trajectories_that_count_their_steps_alike_are_no_copies(archive: Archive, tmp_path: Path) -> None:
    for name in ("one", "two"):
        told = trajectory(user(f"go {name}"), agent("gone"), session_id=name)
        (tmp_path / f"{name}.json").write_text(json.dumps(told))
    archive.inscribe([tmp_path / "one.json", tmp_path / "two.json"])
    assert [row.copies for row in archive.sessions()] == [0, 0]


def test_a_prompt_of_another_agent_that_is_only_a_picture_is_a_step() -> None:
    """Without it the answer would stand in the round before."""
    asked, shown = Message("user", blocks=(Text("Look."),)), Message("user", blocks=(Media("p.png", "image/png"),))
    answer = Message("assistant", blocks=(Text("I see."),))
    document = write([Round(1, (asked, answer), True), Round(2, (shown, answer), True)], Facts("s", "other"))
    assert [(step["source"], step["message"]) for step in document["steps"]] == [
        ("user", "Look."),
        ("agent", "I see."),
        ("user", ""),
        ("agent", "I see."),
    ]
