"""A session's life: begun, recorded, compacted, cut off, resumed, forked, ended."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from muniment.errors import Ambiguous, NotFound, NotRecorded, UnknownFormat, Unsupported
from muniment.record import (
    Recorder,
    Transcript,
    append_history,
    append_transcript,
    close_all,
    effective,
    load,
    read_history,
    resume,
)
from muniment.record.forking import fork
from muniment.record.inspect import inspect
from muniment.record.sidechains import Sidechain
from muniment.record.transcript import dialect_named, recorded

CANARY = "canary-grant-8c1f"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder, and a recorder's home of its own."""
    monkeypatch.setenv("MUNIMENT_RECORDER", str(tmp_path / "home"))
    folder = tmp_path / "proj"
    folder.mkdir()
    return folder


def events(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def types(path: Path) -> list[str]:
    return [event["type"] for event in events(path)]


def everything_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_the_five_lines_of_the_readme(project: Path) -> None:
    with Recorder.start(cwd=project, agent="reviewer", model="claude-opus-4-6") as rec:
        rec.user("Fix the login bug")
        call = rec.tool_call("bash", {"command": "pytest -q"})
        rec.tool_result(call, "3 failed", is_error=True)
        rec.assistant("The token check is inverted.")
    assert types(rec.path) == ["header", "user", "tool_call", "tool_result", "assistant", "terminator"]
    header, *_, last = events(rec.path)
    assert header["payload"]["agent"] == "reviewer"
    assert header["payload"]["resumed_from"] is None
    assert last["payload"]["statistics"]["events"] == 5
    assert [event["prev_uuid"] for event in events(rec.path)] == [None, *(e["uuid"] for e in events(rec.path)[:-1])]
    assert rec.path == project / ".transcripts" / f"{rec.session_id}.jsonl"
    assert (project / ".transcripts" / ".gitignore").read_text() == "*\n"


def test_the_minimal_program_of_the_specification_is_resumed(project: Path) -> None:
    """Its times are counts of seconds, and it writes no header."""
    folder = project / ".transcripts"
    folder.mkdir()
    said = [("user", {"text": "go"}), ("tool_call", {"id": "c", "name": "ls", "input": {}})]
    lines = [
        {"uuid": f"u{n}", "ts": 1767323045.5 + n, "type": type_, "prev_uuid": None, "payload": payload}
        for n, (type_, payload) in enumerate(said)
    ]
    (folder / "night.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (row,) = recorded(project, dialect_named("native"))
    assert (row.session_id, row.started, row.prompt) == ("night", "2026-01-02T03:04:05.500Z", "go")
    assert [event["ts"] for event in resume("night", project)] == [
        "2026-01-02T03:04:05.500Z",
        "2026-01-02T03:04:06.500Z",
    ]
    with Recorder.resume("night", project) as rec:
        assert [call.name for call in rec.unanswered] == ["ls"]
        assert rec.problems == []


def test_resumed_and_forked_sessions_say_who_runs(project: Path) -> None:
    with Recorder.start(cwd=project, agent="reviewer", model="m1", about={"provider": "p1", "mood": "calm"}) as rec:
        rec.user("one")
        with rec.fork() as child:
            child.user("two")
    with Recorder.resume(rec.session_id, project) as again, fork(rec.session_id, project) as other:
        assert types(again.path) == ["header"]
    for made in (child, again, other):
        header = events(made.path)[0]["payload"]
        assert (header["agent"], header["model"], header["provider"]) == ("reviewer", "m1", "p1")
        assert "mood" not in header
    assert all("model" not in event["payload"] for event in events(rec.path)[1:])


def test_a_resumed_session_tells_of_a_torn_last_line_and_of_half_a_compaction_where_it_lies(project: Path) -> None:
    with Recorder.start(cwd=project) as rec:
        rec.user("one")
        half = rec.event("compaction_boundary", {"headUuid": "x"})
        rec.event("note", uuid="a")
        place = rec.event("note", {"again": True}, uuid="b").byte_offset
    with rec.path.open("r+b") as file:
        lines = file.read().splitlines(keepends=True)
        file.seek(0)
        lines[4] = lines[4].replace(b'"uuid":"b"', b'"uuid":"a"')
        file.write(b"".join(lines) + b'{"type":"user","ts":"2026')
    whole = sum(map(len, lines))
    with Recorder.resume(rec.session_id, project) as again:
        assert again.problems == [
            f"{rec.path}: byte {half.byte_offset}: compaction {half.uuid} is incomplete and does not count",
            f"{rec.path}: byte {whole}: an unfinished last line",
        ]
    found = inspect(rec.path)
    assert found.unfinished == 25
    assert [problem.offset for problem in found.problems if "two events" in problem.what] == [place]


@pytest.mark.parametrize("dialect", ["native", "agent"])
def test_the_events_of_any_transcript_can_be_had(project: Path, monkeypatch: pytest.MonkeyPatch, dialect: str) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project))
    with Recorder.start(cwd=project, dialect=dialect) as rec:
        rec.user("one")
        rec.compact("summed up")
        rec.user("two")
    loaded = load(str(rec.path))
    assert isinstance(loaded, Transcript)
    assert (loaded.session_id, loaded.problems, loaded.unfinished) == (rec.session_id, [], 0)
    assert [event.payload["text"] for event in effective(loaded.events)] == ["summed up", "two"]
    assert [event.payload["text"] for event in effective(loaded.events, compactions=0)] == ["one", "two"]
    assert [event["payload"]["text"] for event in resume(str(rec.path), project)] == ["summed up", "two"]


def test_what_is_no_transcript_is_not_loaded(project: Path) -> None:
    (project / "x.jsonl").write_text('{"a":1}\n')
    with pytest.raises(UnknownFormat):
        load(project / "x.jsonl")


def test_a_history_that_is_nearly_full_is_told_once(project: Path, tmp_path: Path) -> None:
    path = tmp_path / "home" / "history.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps({"prompt": "old", "session_id": "s"}) + "\n" for _ in range(9000)))
    with Recorder.start(cwd=project) as rec:
        rec.user("one")
        rec.user("two")
    (told,) = rec.problems
    assert told.startswith(str(path))
    assert "9001 of 10000 entries" in told
    assert rec.close().history_appended


@pytest.mark.parametrize("given", [("user", {"text": "hi"}), ("user", {"text": "hi"}, "u1"), ({"type": "user"},)])
def test_a_call_in_the_form_of_the_minimal_program_is_told_what_to_give(project: Path, given: tuple) -> None:
    with pytest.raises(TypeError, match=r"append_transcript\(session_id, event\): .*`type`, `payload` and `uuid`"):
        append_transcript("s", *given)
    assert not list(project.rglob("s.jsonl"))


def test_outputs_and_what_close_guarantees(project: Path) -> None:
    rec = Recorder.start(cwd=project)
    assert rec.outputs.history_offset is None
    rec.user("one")
    rec.user("two")
    kept = project / "a.txt"
    kept.write_text("before")
    rec.before_edit(kept)
    assert rec.outputs.transcript_path == rec.path
    assert rec.outputs.history_offset == read_history(1)[0]["offset"]
    assert len(rec.outputs.checkpoint_hash) == 64
    closed = rec.close()
    assert (closed.transcript_flushed, closed.history_appended) == (True, True)
    assert rec.close() == closed


def test_a_failed_block_ends_the_session_as_failed(project: Path) -> None:
    with pytest.raises(RuntimeError), Recorder.start(cwd=project) as rec:
        raise RuntimeError("boom")
    assert events(rec.path)[-1]["payload"]["status"] == "failed"


# -- compaction


def test_compaction_never_shrinks_the_file_and_nothing_in_it_changes(project: Path) -> None:
    rec = Recorder.start(cwd=project)
    kept = ""
    for n in range(20):
        rec.user(f"prompt {n}")
        kept = rec.assistant(f"answer {n}").uuid
        before = rec.path.read_bytes()
        if n % 6 == 5:
            rec.compact(f"summary {n}", first_kept=kept)
            assert rec.path.read_bytes().startswith(before)
            assert rec.path.stat().st_size > len(before)
            assert [event.type for event in rec.chain] == ["summary", "assistant"]
    rec.close()
    transcript = load(rec.path)
    assert sum(event.type == "user" for event in transcript.events) == 20
    assert [e["uuid"] for e in resume(rec.session_id, root=project)] == [event.uuid for event in rec.chain]


def test_a_compaction_needs_something_to_compact(project: Path) -> None:
    with Recorder.start(cwd=project) as rec, pytest.raises(ValueError, match="nothing to compact"):
        rec.compact("empty")


def test_the_transcript_is_not_read_again_on_any_turn(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Recorder.start(cwd=project) as rec:
        monkeypatch.setattr(os, "pread", lambda *_: pytest.fail("the transcript was read"))
        for n in range(50):
            rec.user(f"prompt {n}")
            rec.assistant(f"answer {n}")
            assert len(rec.chain) == 2 * n + 2


# -- resuming


def crashed(project: Path) -> Recorder:
    """A session that was killed in the middle of a tool call."""
    rec = Recorder.start(cwd=project, agent="reviewer")
    rec.user("Fix it")
    rec.tool_result(rec.tool_call("bash", {"command": "ls"}), "a.txt")
    rec.permissions.allow("bash", CANARY)
    rec.permissions.deny("bash", "rm *")
    rec.tool_call("bash", {"command": "sleep 1000"}, id="cut-off")
    rec.flush()
    return rec


def test_a_resumed_session_has_the_chain_the_open_calls_and_the_restrictions(project: Path) -> None:
    old = crashed(project)
    with Recorder.resume(old.session_id[:8], cwd=project) as new:
        assert new.session_id != old.session_id
        assert [event.uuid for event in new.chain] == [event.uuid for event in old.chain]
        assert [(call.id, call.input) for call in new.unanswered] == [("cut-off", {"command": "sleep 1000"})]
        assert new.permissions.decide("bash", {"command": "rm x"}) == "deny"
        new.tool_result(new.unanswered[0], "done after all")
    header = events(new.path)[0]["payload"]
    assert header["resumed_from"] == old.session_id
    assert header["agent"] == "reviewer"
    with Recorder.resume("last", cwd=project) as third:
        assert third.unanswered == []
        assert len(third.chain) == len(new.chain)
        assert third.permissions.decide("bash", {"command": "rm x"}) == "deny"


def test_no_grant_ever_reaches_a_file(project: Path, tmp_path: Path) -> None:
    old = crashed(project)
    assert old.permissions.decide("bash", {"command": CANARY}) == "allow"
    with Recorder.resume(old.session_id, cwd=project) as new:
        assert new.permissions.decide("bash", {"command": CANARY}) == "ask"
        new.permissions.allow("bash", CANARY)
        child = new.fork()
        assert child.permissions.decide("bash", {"command": CANARY}) == "ask"
        assert child.permissions.decide("bash", {"command": "rm x"}) == "deny"
        child.close()
        with pytest.raises(ValueError, match="grants"):
            new.event("permission_grant", {"tool": CANARY})
        with pytest.raises(ValueError, match="grants"):
            append_transcript("s", {"type": "grant", "payload": CANARY, "uuid": "u"}, root=project)
        with pytest.raises(ValueError, match="grants"):
            append_transcript("s", {"type": "header", "payload": {"allowed": [CANARY]}, "uuid": "h"}, root=project)
        with new.sidechain("task") as side, pytest.raises(ValueError, match="grants"):
            side.append("always_allow", {"tool": CANARY})
    with pytest.raises(ValueError, match="grants"):
        Recorder.start(cwd=project, about={"permissions": {"allow": [CANARY]}})
    close_all()
    assert CANARY.encode() not in everything_below(tmp_path)


def test_a_session_is_found_by_prefix_by_path_or_as_the_last(project: Path) -> None:
    ids = ["aaaa-1", "aaaa-2", "bbbb-1"]
    for id_ in ids:
        Recorder.start(cwd=project, session_id=id_).close()
    native = dialect_named("native")
    assert [row.session_id for row in recorded(project, native)] == ids[::-1]
    assert Recorder.resume("bbbb", cwd=project).problems == []
    assert Recorder.resume(project / ".transcripts" / "aaaa-1.jsonl", cwd=project).problems == []
    with pytest.raises(Ambiguous):
        Recorder.resume("aaaa", cwd=project)
    with pytest.raises(NotFound):
        Recorder.resume("zzzz", cwd=project)


def test_a_session_whose_beginning_is_gone_is_resumed_with_what_is_left(project: Path) -> None:
    old = crashed(project)
    new = Recorder.resume(old.session_id, cwd=project)
    new.user("go on")
    new.close()
    old.path.unlink()
    third = Recorder.resume(new.session_id, cwd=project)
    assert [event.payload["text"] for event in third.chain] == ["go on"]
    assert any("is not there" in problem for problem in third.problems)


@pytest.mark.parametrize("bad", ["../evil", "a/b", "", ".hidden", "x" * 200, "nul\0", "~", "a b"])
def test_an_id_never_becomes_a_path_unchecked(project: Path, bad: str) -> None:
    with pytest.raises(ValueError, match="id of a session"):
        Recorder.start(cwd=project, session_id=bad)
    with pytest.raises(ValueError, match="id of a session"):
        append_transcript(bad, {"type": "x", "payload": 1, "uuid": "u"}, root=project)


# -- crash recovery


def test_a_transcript_without_terminator_is_a_valid_one(project: Path) -> None:
    old = crashed(project)
    found = load(old.path)
    assert not found.ended
    assert found.problems == []


def test_a_partial_compaction_marker_falls_back_to_the_chain_before(project: Path) -> None:
    rec = Recorder.start(cwd=project)
    for n in range(4):
        rec.user(f"prompt {n}")
    rec.compact("summary")
    rec.flush()
    whole = rec.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in (b"".join(lines[:-1]), b"".join(lines[:-1]) + lines[-1][:40], b"".join([*lines[:-2], lines[-1]])):
        rec.path.write_bytes(cut)
        assert [e["payload"]["text"] for e in resume(rec.session_id, root=project)] == [f"prompt {n}" for n in range(4)]


def test_damage_in_the_middle_costs_the_damaged_line_only(project: Path) -> None:
    rec = Recorder.start(cwd=project)
    for n in range(9):
        rec.user(f"prompt {n}")
    rec.close()
    lines = rec.path.read_bytes().splitlines(keepends=True)
    lines[4] = b"\0" * (len(lines[4]) - 1) + b"\n"
    rec.path.write_bytes(b"".join(lines))
    new = Recorder.resume(rec.session_id, cwd=project)
    assert [e.payload["text"] for e in new.chain] == [f"prompt {n}" for n in range(9) if n != 3]
    assert any("NUL" in problem for problem in new.problems)


# -- forking


def test_a_fork_takes_the_last_messages_and_leaves_the_parent_alone(project: Path) -> None:
    rec = Recorder.start(cwd=project)
    for n in range(15):
        rec.user(f"prompt {n}")
        rec.assistant(f"answer {n}")
    before = rec.path.read_bytes()
    child = rec.fork(summary="we were refactoring")
    assert rec.path.read_bytes() == before
    assert [event.uuid for event in child.chain] == [event.uuid for event in rec.chain[-20:]]
    child.user("another way")
    child.close()
    branch = events(child.path)[1]
    assert branch["type"] == "branch"
    assert branch["payload"]["parent_path"] == str(rec.path)
    assert branch["payload"]["summary"] == "we were refactoring"
    assert branch["payload"]["fork_uuid"] == rec.chain[-1].uuid
    rec.user("the parent goes on")
    rec.close()


def test_a_session_can_be_forked_without_recording_it(project: Path) -> None:
    old = crashed(project)
    before = old.path.read_bytes()
    child = fork(old.session_id, project, last=2)
    assert [event.type for event in child.chain] == ["tool_call", "tool_result", "tool_call"]
    assert old.path.read_bytes() == before


# -- the channels fail alone


def test_a_history_that_cannot_be_written_does_not_stop_the_transcript(project: Path, tmp_path: Path) -> None:
    (tmp_path / "home" / "history.jsonl").mkdir(parents=True)
    rec = Recorder.start(cwd=project)
    rec.user("still recorded")
    closed = rec.close()
    assert "user" in types(rec.path)
    assert not closed.history_appended
    assert any("history" in problem for problem in rec.problems)


def test_a_damaged_history_does_not_touch_a_session_nor_the_other_way_round(project: Path, tmp_path: Path) -> None:
    rec = Recorder.start(cwd=project)
    rec.user("one")
    (tmp_path / "home" / "history.jsonl").write_bytes(b"\0" * 5000)
    rec.user("two")
    rec.close()
    assert [e.payload["text"] for e in rec.chain] == ["one", "two"]
    assert read_history(1)[0]["prompt"] == "two"


def test_the_channels_never_write_into_each_other(project: Path, tmp_path: Path) -> None:
    with Recorder.start(cwd=project) as rec:
        rec.user("PROMPT")
        rec.assistant("ANSWER")
        with rec.sidechain("task-1") as child:
            child.append("user", {"text": "SIDE"})
            child.summary = "SUMMED"
    transcript = rec.path.read_bytes()
    side = (project / ".sidechains" / "task-1.jsonl").read_bytes()
    history = (tmp_path / "home" / "history.jsonl").read_bytes()
    assert b"SIDE" not in transcript + history
    assert b"SUMMED" in transcript
    assert b"PROMPT" not in side
    assert b"ANSWER" not in side + history


# -- sidechains


def test_the_parent_learns_status_and_summary_and_never_reads(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rec = Recorder.start(cwd=project)
    opened: list[str] = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, *rest, **more: opened.append(str(path)) or real(path, *rest, **more))
    with rec.sidechain("good") as child:
        child.summary = "found the bug"
        opened.clear()
    with pytest.raises(RuntimeError), rec.sidechain("bad"):
        raise RuntimeError("lost")
    rec.close()
    told = [event["payload"] for event in events(rec.path) if event["type"] == "sidechain"]
    assert told == [
        {"task_id": "good", "status": "completed", "summary": "found the bug"},
        {"task_id": "bad", "status": "failed", "summary": "RuntimeError: lost"},
    ]
    assert not any("good.jsonl" in path for path in opened), "nobody opens it once it is closed"
    assert types(project / ".sidechains" / "bad.jsonl")[-1] == "terminator"


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [(RuntimeError("boom"), "failed", "RuntimeError: boom"), (SystemExit(143), "terminated", "SystemExit: 143")],
)
def test_a_summary_that_was_set_outlives_the_error(project: Path, error: BaseException, status: str, told: str) -> None:
    def subagent(child: Sidechain) -> None:
        child.summary = "three callers"
        raise error

    with pytest.raises(type(error)), Recorder.start(cwd=project) as rec, rec.sidechain("task") as child:
        subagent(child)
    (parent,) = (event["payload"] for event in events(rec.path) if event["type"] == "sidechain")
    assert parent == {"task_id": "task", "status": status, "summary": "three callers", "error": told}
    last = events(child.path)[-1]["payload"]
    assert (last["status"], last["summary"], last["error"]) == (status, "three callers", told)


def test_sidechains_share_a_budget(project: Path) -> None:
    with Recorder.start(cwd=project) as rec:
        with rec.sidechain("first", max_bytes=4000) as child:
            child.append("note", "x" * 3000)
        with pytest.raises(NotRecorded, match="this would be more"), rec.sidechain("second", max_bytes=4000) as child:
            _ = [child.append("note", "x" * 200) for _ in range(10)]
    assert events(project / ".sidechains" / "second.jsonl")[-1]["payload"]["status"] == "failed"


def test_what_a_subagent_says_may_be_long(project: Path) -> None:
    long = "x" * (3 << 20)
    with Recorder.start(cwd=project) as rec, rec.sidechain("task") as child:
        child.append("note", long)
        child.summary = long
    side = events(project / ".sidechains" / "task.jsonl")
    assert [event["payload"] == long for event in side] == [False, True, False]
    assert side[-1]["payload"]["summary"] == long


def test_the_parent_is_told_of_a_subagent_whose_end_could_not_be_recorded(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rec = Recorder.start(cwd=project)

    def refuse(*_: object) -> None:
        raise NotRecorded("the disk is full")

    with pytest.raises(NotRecorded), rec.sidechain("task") as child:
        monkeypatch.setattr(child._log, "append", refuse)
    assert child._log._closed
    rec.close()
    (told,) = (event["payload"] for event in events(rec.path) if event["type"] == "sidechain")
    assert (told["task_id"], told["status"]) == ("task", "failed")


def test_a_session_whose_end_cannot_be_recorded_lets_go_of_its_files(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rec = Recorder.start(cwd=project)
    rec.user("fix the login")

    def refuse(*_: object) -> None:
        raise NotRecorded("the disk is full")

    monkeypatch.setattr(rec._log, "append", refuse)
    with pytest.raises(NotRecorded):
        rec.close()
    assert rec._log._closed
    assert "user" in types(rec.path)


SUBAGENT = """
    import sys, time
    from muniment.record import Recorder
    rec = Recorder.start(cwd=sys.argv[1])
    with rec.sidechain("task") as child:
        child.append("note", "before the signal")
        print("ready", flush=True)
        time.sleep(60)
"""


def test_a_subagent_that_is_terminated_leaves_everything_on_disk(project: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(SUBAGENT), str(project)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ.copy())
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 143
    process.stdout.close()
    side = events(project / ".sidechains" / "task.jsonl")
    assert [event["type"] for event in side] == ["header", "note", "terminator"]
    assert side[-1]["payload"]["status"] == "terminated"
    (transcript,) = (project / ".transcripts").glob("*.jsonl")
    assert events(transcript)[-1]["payload"]["status"] == "terminated"


# -- the functions of the specification


def test_append_transcript_is_idempotent_and_tells_the_place(project: Path) -> None:
    event = {"type": "note", "payload": {"n": 1}, "uuid": "u1"}
    first = append_transcript("session-1", event, root=project)
    second = append_transcript("session-1", {**event, "uuid": "u2", "prev_uuid": "u1"}, root=project)
    assert first == {"byte_offset": 0, "line_number": 1}
    assert append_transcript("session-1", event, root=project) == first
    close_all()
    assert append_transcript("session-1", event, root=project) == first, "also after a restart"
    close_all()
    data = (project / ".transcripts" / "session-1.jsonl").read_bytes()
    assert json.loads(data[second["byte_offset"] :])["prev_uuid"] == "u1"
    assert [event["uuid"] for event in events(project / ".transcripts" / "session-1.jsonl")] == ["u1", "u2"]


def test_append_and_read_history(project: Path) -> None:
    for n in range(60):
        append_history(f"prompt {n}", "session-1")
    close_all()
    found = read_history()
    assert len(found) == 50
    assert set(found[0]) == {"prompt", "ts", "session_id", "offset"}
    assert found[0]["prompt"] == "prompt 59"


# -- what cannot be


def test_a_format_without_a_dialect_cannot_be_recorded_in(project: Path) -> None:
    with pytest.raises(Unsupported, match="claude-code"):
        Recorder.start(cwd=project, dialect="claude-code")
    with pytest.raises(NotFound):
        Recorder.start(cwd=project, dialect="no such thing")


def test_a_folder_that_cannot_be_written_is_told_before_anything_runs(project: Path) -> None:
    (project / ".transcripts").write_text("in the way")
    with pytest.raises((NotRecorded, OSError)):
        Recorder.start(cwd=project)
