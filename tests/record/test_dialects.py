"""The same recorder in other formats: their own places, their own lines, the same promises."""

import json
import re
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.errors import Unsupported
from muniment.record import Recorder
from muniment.record.transcript import dialect_named, recorded


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MUNIMENT_RECORDER", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "proj"
    folder.mkdir()
    return folder


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def talk(rec: Recorder) -> None:
    rec.user("List the files")
    call = rec.tool_call("bash", {"command": "ls"})
    with rec.sidechain("side") as child:
        child.summary = "nothing to see"
    rec.tool_result(call, "main.go")


def test_an_agent_session_lies_where_that_program_looks(project: Path, tmp_path: Path) -> None:
    with Recorder.start(cwd=project, dialect="agent") as rec:
        talk(rec)
        rec.assistant("One file.", model="claude-sonnet-4-5", usage={"input": 3, "output": 2})
    assert rec.path.parent == tmp_path / "config" / "agent" / "sessions"
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{8}\.jsonl", rec.path.name)
    assert not (rec.path.parent / ".gitignore").exists(), "this folder is not ours"
    header, *entries = lines(rec.path)
    assert header["cwd"] == str(project)
    assert [entry["role"] for entry in entries] == ["user", "assistant", "tool_result", "assistant"]
    known = [entry["id"] for entry in entries]
    assert [entry.get("parent_id") for entry in entries[1:]] == known[:-1]


def test_a_resumed_agent_session_goes_on_in_its_file_and_respects_compaction(project: Path) -> None:
    with Recorder.start(cwd=project, dialect="agent") as rec:
        for n in range(4):
            rec.user(f"prompt {n}")
        kept = rec.assistant("answer").uuid
        rec.compact("## Goal", first_kept=kept, tokens_before=45000)
        rec.user("after")
        before = [event.payload.get("text") for event in rec.chain]
    again = Recorder.resume("last", cwd=project, dialect="agent")
    assert again.path == rec.path
    assert [event.payload.get("text") for event in again.chain] == before == ["## Goal", "answer", "after"]
    again.user("and on")
    again.close()
    assert lines(rec.path)[-1]["parent_id"] == lines(rec.path)[-2]["id"]
    compaction = next(line for line in lines(rec.path) if line["type"] == "compaction")
    assert compaction["first_kept_entry_id"] == kept
    assert compaction["tokens_before"] == 45000


def test_every_answer_of_an_agent_session_names_its_model_and_counts_its_tokens(project: Path) -> None:
    started = Recorder.start(cwd=project, dialect="agent", model="m1", about={"provider": "p1"})
    with started as rec:
        talk(rec)
        rec.assistant("One file.", usage={"input": 100, "output": 50, "cache_read": 80, "cache_write": 20})
        rec.assistant("Another model.", model="m2", usage={"input": 3, "output": 2, "cache_read": 80})
    with Recorder.resume("last", cwd=project, dialect="agent") as again:
        again.assistant("The last one goes on.", usage={"input": 3, "output": 2, "total_tokens": 7})
        with again.fork() as child:
            child.assistant("And in the fork.")
    said = [line["message"] for path in (rec.path, child.path) for line in lines(path) if "message" in line]
    answers = [message for message in said if message["role"] == "assistant"]
    told = [(message.get("model"), message.get("provider")) for message in answers]
    assert told == [("m1", "p1"), ("m1", "p1"), ("m2", "p1"), ("m2", "p1"), *told[:4], ("m2", "p1")]
    assert [message["usage"]["total_tokens"] for message in answers[1:4]] == [150, 85, 7]
    assert all("model" not in message for message in said if message not in answers)


def test_a_forked_agent_session_names_its_parent_and_its_folder(project: Path) -> None:
    rec = Recorder.start(cwd=project, dialect="agent")
    for n in range(12):
        rec.user(f"prompt {n}")
        rec.assistant(f"answer {n}")
    child = rec.fork(10, "Exploring another way")
    header, branch, *copies = lines(child.path)
    assert header["cwd"] == str(project)
    assert branch["type"] == "branch"
    assert branch["parent_session_path"] == str(rec.path)
    assert branch["branch_summary"] == "Exploring another way"
    assert branch["fork_entry_id"] == copies[-1]["id"] == rec.chain[-1].uuid
    assert len(copies) == 10
    child.close()
    rec.close()


def test_an_adr029_session_has_its_header_its_events_and_its_statistics(project: Path) -> None:
    about = {"image_id": "iguana", "agent_temperature": 1.0, "context_loaded": ["taste.md"]}
    with Recorder.start(cwd=project, dialect="adr029", model="claude-sonnet-4-7", about=about) as rec:
        rec.user("Warmer, please")
        rec.thinking("The shadows are blue.")
        rec.tool_result(rec.tool_call("apply_primitive", {"name": "warmth"}), {"ok": True})
        rec.event("snapshot_created", {"hash": "abc123", "label": "warmer"})
        with pytest.raises(Unsupported):
            rec.assistant("The format has no event for this.")
        with pytest.raises(ValueError, match="hash"):
            rec.event("snapshot_created", {"label": "no hash"})
    assert rec.path.parent == project / "iguana" / "sessions"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d_session_001\.jsonl", rec.path.name)
    told = lines(rec.path)
    assert told[0]["type"] == "session_start"
    assert told[0]["agent_provider"] == "claude-sonnet-4-7"
    assert [line["type"] for line in told[1:]] == [
        "photographer_message",
        "agent_thinking",
        "agent_tool_call",
        "tool_result",
        "snapshot_created",
        "session_end",
    ]
    assert told[-1]["statistics"]["user"] == 1
    assert all("timestamp" in line for line in told[1:])


@pytest.mark.parametrize("dialect", ["native", "agent", "adr029"])
def test_what_is_recorded_is_listed_inscribed_and_given_back(project: Path, tmp_path: Path, dialect: str) -> None:
    about = {"image_id": "iguana"} if dialect == "adr029" else None
    with Recorder.start(cwd=project, dialect=dialect, about=about) as rec:
        talk(rec)
    original = rec.path.read_bytes()
    assert [row.path for row in recorded(rec.root, dialect_named(dialect))] == [str(rec.path)]
    archive = Archive(tmp_path / "store")
    archive.inscribe([rec.path], lambda _: None)
    assert all(report.lossless for report in archive.check([rec.path]))
    (found,) = archive.sessions()
    assert found.title == "List the files"
    rec.path.unlink()
    archive.restore(found.session_id)
    assert rec.path.read_bytes() == original
