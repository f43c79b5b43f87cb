"""Streams that `codex exec --json` printed: which sessions they are, how they grow, and what comes of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from muniment import check, sources
from muniment.archive import Archive
from muniment.errors import Unsupported
from muniment.model import Facts, Text, Tool
from muniment.sources.base import Move, SourceFile
from muniment.sources.codex import SOURCE
from muniment.sources.lines import records

THREAD = "019a2d7a-0000-7000-8000-00000000a003"
FACTS = Facts("01a00000-0000-7000-8000-000000000009", "codex", native_id=f"stream of {THREAD}")
SAVED = Path(__file__).parent / "stream" / "input.jsonl"


def stream(*items: dict[str, Any]) -> bytes:
    events = [{"type": "thread.started", "thread_id": THREAD}, {"type": "turn.started"}, *items]
    return b"".join(json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in events)


def item(event: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{event}", "item": {"id": "item_1", "type": kind, **fields}}


def tools(data: bytes) -> list[Tool]:
    rounds = SOURCE.read(records([data]), FACTS)
    return [block for round_ in rounds for block in round_.blocks() if isinstance(block, Tool)]


STARTED = item("started", "command_execution", command="ls", aggregated_output="", status="in_progress")
DONE = item("completed", "command_execution", command="ls", aggregated_output="a\n", exit_code=0, status="completed")


def test_a_command_is_one_call_whether_its_start_or_its_end_is_told() -> None:
    assert [tool.output for tool in tools(stream(STARTED))] == [None]
    given = (Text("Exit code: 0\nOutput:\na\n"),)
    assert [tool.output for tool in tools(stream(STARTED, DONE))] == [given]
    assert [(tool.name, tool.output) for tool in tools(stream(DONE))] == [("command_execution", given)]


def test_items_of_a_second_run_are_other_calls() -> None:
    assert [tool.output for tool in tools(stream(STARTED) + stream(STARTED))] == [None, None]


def test_a_stream_and_the_rollout_of_its_thread_both_have_their_place(tmp_path: Path) -> None:
    (tmp_path / "saved.jsonl").write_bytes(stream(STARTED, DONE))
    meta = {"timestamp": "2026-01-02T03:04:05.000Z", "type": "session_meta", "payload": {"id": THREAD}}
    (tmp_path / f"rollout-2026-01-02T03-04-05-{THREAD}.jsonl").write_text(json.dumps(meta) + "\n")
    found = {session.native_id or session.session_id for session in sources.find_in(tmp_path, {"HOME": "/nowhere"})}
    assert found == {THREAD, f"stream of {THREAD}"}


def test_noise_before_a_stream_does_not_hide_it() -> None:
    noisy = b"Reading additional input from stdin...\n" + stream(DONE)
    assert [s.name for s in sources.all_sources() if s.matches(Path("run.log"), noisy)] == ["codex"]
    assert len(tools(noisy)) == 1
    marked = b"\xef\xbb\xbf" + stream(DONE)
    assert SOURCE.matches(Path("run.log"), marked)
    assert [problem for round_ in SOURCE.read(records([marked]), FACTS) for problem in round_.problems("")] == []


def test_a_stream_that_begins_with_an_item_is_one_too(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(stream(STARTED, DONE).split(b"\n", 2)[2])
    (found,) = sources.find_in(path, {"HOME": "/nowhere"})
    assert (found.native_id or "").startswith("stream of ")


def test_what_was_saved_is_kept_without_loss() -> None:
    data = SAVED.read_bytes()
    file = SourceFile(str(SAVED), SAVED.name, "main", len(data), 0)
    checked = check.check_transcript(SOURCE, FACTS, file, lambda: [data])
    assert checked.lossless
    assert {name: tally.equal for name, tally in checked.export.items()} == {
        "text": 1, "thinking": 1, "tool call": 4, "tool input": 4, "tool output": 2, "usage": 1,
        "part: resource": 1,
    }  # fmt: skip


def test_a_stream_that_grows_is_one_session(tmp_path: Path) -> None:
    archive, path = Archive(tmp_path / "store", {"HOME": str(tmp_path)}), tmp_path / "run.jsonl"
    whole = stream(STARTED, DONE, item("completed", "agent_message", text="One file."))
    for end in (len(stream(STARTED)), len(whole)):
        path.write_bytes(whole[:end])
        archive.inscribe([path], lambda outcome: None)
    (session,) = archive.sessions()
    assert (session.rounds, session.messages) == (1, 2)


def test_the_thread_is_what_is_resumed_and_a_stream_is_not_moved() -> None:
    assert SOURCE.resumed(FACTS) == f"codex resume {THREAD}"
    assert SOURCE.identity(FACTS, Move()) == FACTS.session_id
    with pytest.raises(Unsupported):
        SOURCE.moved("run.jsonl", [stream()], FACTS, Move(cwd="/elsewhere"))
