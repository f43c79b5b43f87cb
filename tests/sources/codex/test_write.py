"""Sessions written for Codex: our own come back as they were, foreign ones as far as the format goes."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

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
)
from muniment.sources.base import Move
from muniment.sources.codex import SOURCE

from .rollouts import CASES, SESSION, conversations, event, facts_before, item, line, media_of, read, seen

ITEMS = ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning")
GRANTS = (b"approval_policy", b"sandbox_policy", b"permission_profile", b"<permissions instructions>")
OTHER = "01a00000-0000-7000-8000-00000000000f"


def write(rounds: list[Round], facts: Facts, move: Move | None = None) -> tuple[bytes, list[Loss]]:
    losses: list[Loss] = []
    lines = SOURCE.write(iter(rounds), facts, move or Move(), media_of(rounds).__getitem__, losses)
    return b"".join(lines), losses


def rewritten(data: bytes, move: Move | None = None) -> bytes:
    rounds = read(data)
    return write(rounds, facts_before(rounds)[-1], move)[0]


def payloads(data: bytes, *kinds: str) -> list[dict[str, Any]]:
    found = [json.loads(line)["payload"] for line in data.split(b"\n") if line[:1] == b"{" and line[-1:] == b"}"]
    return [payload for payload in found if payload.get("type") in kinds]


@settings(max_examples=300)
@given(conversations())
def test_our_own_sessions_come_back(data: bytes) -> None:
    assert seen(read(rewritten(data))) == seen(read(data))


@settings(max_examples=100)
@given(conversations())
def test_the_very_items_come_back(data: bytes) -> None:
    """Calls with the strings of their arguments, outputs, reasoning: as sets, because outputs may change places."""

    def found(rollout: bytes) -> list[str]:
        return sorted(json.dumps({"content": None} | item, sort_keys=True) for item in payloads(rollout, *ITEMS))

    clean = data.replace(b', "encrypted_content": null', b"")
    assert found(rewritten(clean)) == found(clean)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_a_fixture_comes_back(path: Path) -> None:
    rounds = read(path.read_bytes())
    again = seen(read(rewritten(path.read_bytes())))
    if path.parent.name in ("bare", "oldest", "chat", "stream"):
        assert without_folder(again) == without_folder(seen(rounds))
    else:
        assert again == seen(rounds)


def without_folder(rounds: list[Any]) -> list[Any]:
    """A written file must name a folder; where the source named none they cannot agree."""
    return [(n, prompted, [(*m[:4], *m[5:]) for m in messages]) for n, prompted, messages in rounds]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_writing_twice_is_writing_once(path: Path) -> None:
    once = rewritten(path.read_bytes())
    assert rewritten(once) == once


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_grants_are_never_written(path: Path) -> None:
    written = rewritten(path.read_bytes())
    assert not [grant for grant in GRANTS if grant in written]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_what_the_client_demands_is_there(path: Path) -> None:
    records = [json.loads(line) for line in rewritten(path.read_bytes()).splitlines()]
    assert records[0]["type"] == "session_meta"
    assert {"id", "timestamp", "cwd", "originator", "cli_version"} <= set(records[0]["payload"])
    assert "history_mode" not in records[0]["payload"]
    assert all(isinstance(record["timestamp"], str) and "ordinal" not in record for record in records)
    arguments = [r["payload"]["arguments"] for r in records if r["payload"].get("type") == "function_call"]
    assert all(isinstance(argument, str) for argument in arguments)


def test_phases_come_back_where_the_client_knows_them() -> None:
    folder = Path(__file__).parent
    assert [p.get("phase") for p in payloads(rewritten((folder / "legacy/input.jsonl").read_bytes()), "message")] == [
        None,
        "commentary",
        "final_answer",
        None,
        None,
        "final_answer",
    ]
    written = rewritten((folder / "unknown/input.jsonl").read_bytes())
    assert not [p for p in payloads(written, "message", "agent_message") if "phase" in p]


def test_a_fork_has_a_new_identity_and_folder() -> None:
    data = (Path(__file__).parent / "legacy" / "input.jsonl").read_bytes()
    move = Move(session_id=OTHER, cwd="/new/home")
    written = rewritten(data, move)
    head = json.loads(written.split(b"\n")[0])["payload"]
    assert (head["id"], head["forked_from_id"], head["cwd"]) == (OTHER, SESSION, "/new/home")
    assert [m.cwd for r in read(written) for m in r.messages if m.cwd] == ["/new/home", "/new/home/sub"]
    place = SOURCE.place(facts_before(read(data))[-1], move)
    assert place == f"sessions/2026/01/02/rollout-2026-01-02T03-00-06-{OTHER}.jsonl"


def test_an_original_moves_without_its_texts_being_touched() -> None:
    data = (Path(__file__).parent / "legacy" / "input.jsonl").read_bytes()
    facts = facts_before(read(data))[-1]
    name = f"sessions/2026/01/02/rollout-x-{SESSION}.jsonl"
    new_name, pieces = SOURCE.moved(name, [data], facts, Move(session_id=OTHER, cwd="/new"))
    moved = b"".join(pieces)
    assert new_name == f"sessions/2026/01/02/rollout-x-{OTHER}.jsonl"
    assert json.loads(moved.split(b"\n")[0])["payload"]["id"] == OTHER
    assert b'"cwd":"/new/sub"' in moved
    assert b"<cwd>/proj/app</cwd>" in moved
    assert SOURCE.moved(name, [data], facts, Move()) == (name, [data])


PIXEL = bytes.fromhex("89504e470d0a1a0a")


def foreign() -> list[Round]:
    """A round of another agent, with everything that a block can be."""
    prompt = Message(
        role="user",
        at="2026-02-03T04:05:06.000Z",
        cwd="/theirs",
        blocks=(
            Event(kind="setup", detail="x"),
            Text("look at this"),
            Media("pixel.png", "image/png"),
            Media("paper.pdf", "application/pdf"),
            Unknown(kind="document", value={"type": "document"}),
        ),
    )
    answer = Message(
        role="assistant",
        at="2026-02-03T04:05:07.000Z",
        model="their-model",
        usage=Usage(input=10, output=5, cache_read=3, cache_write=2),
        blocks=(
            Thinking("hm", "their seal"),
            Text("Looking."),
            Tool("t1", "Read", {"path": "é"}, (Text("one"), Text("two")), is_error=True),
            Tool("t2", "Run", "free text", (Media("pixel.png", "image/png"), Unknown("ref", {"type": "ref"}))),
            Tool("t3", "Wait", {}),
            Event(kind="API error", text="overloaded"),
            Compaction("what was said"),
        ),
    )
    steering = Message(role="user", queued=True, blocks=(Text("faster"),))
    inline = Message(role="assistant", sidechain="agent", blocks=(Text("not here"),))
    damaged = Message(role="assistant", model="<synthetic>", blocks=(Unknown("damaged", damage="torn"), Text("Done.")))
    messages = (prompt, answer, steering, inline, damaged)
    return [Round(1, messages, prompted=True, media={"pixel.png": PIXEL})]


def test_a_foreign_session_keeps_its_conversation() -> None:
    rounds = foreign()
    facts = facts_before(rounds, Facts(SESSION, "other"))[-1]
    written, _ = write(rounds, facts)
    found = read(written)
    words = [b.text for b in found[0].blocks() if isinstance(b, Text)]
    assert words == ["look at this", "Looking.", "faster", "Done."]
    tools = {b.id: b for b in found[0].blocks() if isinstance(b, Tool)}
    assert (tools["t1"].name, tools["t1"].input, tools["t1"].output) == ("Read", {"path": "é"}, (Text("one\ntwo"),))
    assert tools["t2"].input == "free text"
    assert [type(part).__name__ for part in tools["t2"].output or ()] == ["Media", "Text"]
    assert tools["t3"].output is None
    assert [b.text for b in found[0].blocks() if isinstance(b, Compaction)] == ["what was said"]
    assert [m.usage for m in found[0].messages if m.usage] == [Usage(10, 5, 3, 2)]
    assert [(m.role, m.queued) for m in found[0].messages] == [
        ("user", False),
        ("assistant", False),
        ("user", True),
        ("assistant", False),
    ]


def test_a_message_without_a_time_stays_without_one() -> None:
    rounds = foreign()
    written, _ = write(rounds, facts_before(rounds, Facts(SESSION, "other"))[-1])
    assert [m.at for m in read(written)[0].messages] == [*(m.at for m in rounds[0].messages[:3]), None]


def test_what_a_foreign_session_loses_is_counted() -> None:
    rounds = foreign()
    _, losses = write(rounds, facts_before(rounds, Facts(SESSION, "other"))[-1])
    assert {(loss.what, loss.count) for loss in losses} == {
        ("thinking", 1),
        ("document", 1),
        ("part: document", 1),
        ("part of a result: ref", 1),
        ("damaged line", 1),
        ("the mark of a failed call", 1),
        ("event: API error", 1),
        ("message of a subagent", 1),
        ("quiet events: setup", 1),
    }


def test_a_session_without_rounds_is_a_head() -> None:
    written, _ = write([], Facts(SESSION, "other"))
    assert json.loads(written)["payload"]["id"] == SESSION


def test_a_session_without_a_folder_is_written_with_one_that_stands_for_none() -> None:
    """The client refuses a head without a folder; a reader must not take `/` for the session's."""
    bare = b"".join(
        json.dumps(record).encode() + b"\n"
        for record in (
            {"id": SESSION, "timestamp": "2025-08-19T08:25:08.061Z", "instructions": None},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
        )
    )
    again = rewritten(bare)
    assert seen(read(again)) == seen(read(bare))
    assert facts_before(read(again))[-1].cwd is None
    assert json.loads(again.split(b"\n")[0])["payload"]["cwd"] == "/"


def test_a_session_that_ran_in_the_root_keeps_its_folder() -> None:
    said = (Message("user", blocks=(Text("go"),), cwd="/"), Message("assistant", blocks=(Text("Yes."),)))
    data, _ = write([Round(1, said, True)], Facts(SESSION, "other", first_cwd="/", cwd="/"))
    assert facts_before(read(data))[-1].cwd == "/"


@pytest.mark.parametrize("data", ["iVBORw0KGgo=", "REDACTED/iVBOR"], ids=["whole", "redacted"])
def test_how_closely_a_picture_is_looked_at_is_written_again(data: str) -> None:
    """The model would see another picture: the detail decides at what size it is shown."""
    pictures = [
        {"type": "input_image", "image_url": f"data:image/png;base64,{data}", "detail": detail}
        for detail in ("high", "low")
    ]
    shown = [{"type": "input_text", "text": "Here."}, *pictures]
    rollout = [
        line("session_meta", {"id": SESSION, "cwd": "/w"}),
        item("message", role="user", content=shown),
        event("user_message", message="Here."),
        item("function_call", name="view_image", arguments="{}", call_id="c1"),
        item("function_call_output", call_id="c1", output=pictures),
        item("function_call_output", call_id="c2", output=pictures),
    ]
    again = rewritten(b"\n".join(rollout) + b"\n")
    assert [payload["output"] for payload in payloads(again, "function_call_output")] == [pictures, pictures]
    assert [payload["content"] for payload in payloads(again, "message")] == [shown]
