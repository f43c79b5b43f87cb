"""The public API as a harness author meets it. Not run: pyright reads it, and every `assert_type` must hold."""

from pathlib import Path
from typing import Any, assert_type

from muniment import Archive
from muniment.model.events import Event
from muniment.record import (
    Appended,
    Call,
    Closed,
    Ledger,
    Outputs,
    Prompt,
    Recorded,
    Recorder,
    Transcript,
    Unanswered,
    Verified,
    append_history,
    append_transcript,
    effective,
    load,
    read_history,
    resume,
    verify,
)


def a_session() -> None:
    with Recorder.start(cwd=".", agent="reviewer", model="claude-opus-4-6", about={"temperature": 0.2}) as rec:
        assert_type(rec.user("Fix the login bug"), Recorded)
        call = rec.tool_call("bash", {"command": "pytest -q"})
        assert_type(call, Call)
        assert_type(rec.tool_result(call, "3 failed", is_error=True), Recorded)
        assert_type(rec.assistant([{"type": "text", "text": "done"}], usage={"input": 1}), Recorded)
        assert_type(rec.chain, list[Event])
        assert_type(rec.permissions, Ledger)
        assert_type(rec.outputs, Outputs)
        assert_type(rec.fork(last=10), Recorder)
        with rec.sidechain("task") as child:
            child.summary = "done"
    assert_type(rec.close(), Closed)


async def in_an_event_loop() -> None:
    async with Recorder.start(cwd=".") as rec:
        assert_type(rec, Recorder)
        assert_type(rec.user("Fix the login bug", durable=False), Recorded)
        assert_type(await rec.settled(), None)


def another_day() -> None:
    rec = Recorder.resume("last", cwd=Path("."))
    assert_type(rec.unanswered, list[Unanswered])
    assert_type(effective(rec.chain), list[Event])
    assert_type(verify(rec.path), Verified)


def what_was_said(path: Path) -> None:
    transcript = load(path)
    assert_type(transcript, Transcript)
    assert_type(effective(transcript.events, compactions=0), list[Event])
    assert_type([problem.offset for problem in transcript.problems], list[int])


def plain_functions() -> None:
    assert_type(append_transcript("s", {"type": "note", "payload": 1, "uuid": "u"}), Appended)
    assert_type(append_history("prompt", "s"), int)
    assert_type(read_history(limit=5), list[Prompt])
    assert_type(resume("s"), list[dict[str, Any]])


def an_archive(archive: Archive) -> None:
    assert_type(archive, Archive)
