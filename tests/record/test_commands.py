"""The commands about recorded sessions, as a person calls them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.record import Recorder

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MUNIMENT_RECORDER", str(tmp_path / "home"))
    folder = tmp_path / "proj"
    folder.mkdir()
    return folder


@pytest.fixture
def muniment(project: Path, tmp_path: Path) -> Run:
    """The real command, run in the project."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("muniment")), "--store", str(tmp_path / "store"), *words]
        return subprocess.run(command, cwd=project, capture_output=True, text=True, env=os.environ, check=False)

    return run


@pytest.fixture
def session(project: Path) -> Recorder:
    """A session that crashed in a tool call."""
    rec = Recorder.start(cwd=project, session_id="aaaa-1", seal=True)
    rec.user("Fix the login bug")
    rec.permissions.deny("bash", "rm *")
    rec.tool_call("bash", {"command": "sleep \x1b[31m"}, id="cut-off")
    rec.flush()
    return rec


def test_recorded_sessions_are_listed(muniment: Run, session: Recorder) -> None:
    shown = muniment("sessions", "--recorded")
    assert "aaaa-1" in shown.stdout
    assert "Fix the login bug" in shown.stdout
    (row,) = json.loads(muniment("sessions", "--recorded", "--json").stdout)
    assert row["path"] == str(session.path)


def test_nothing_recorded_is_said(muniment: Run) -> None:
    shown = muniment("sessions", "--recorded")
    assert (shown.returncode, shown.stdout) == (0, "")
    assert "nothing is recorded" in shown.stderr


def test_resume_begins_a_session_and_tells_what_was_cut_off(muniment: Run, session: Recorder, project: Path) -> None:
    shown = muniment("resume", "aaaa")
    new = Path(shown.stdout.strip())
    assert new.parent == project / ".transcripts"
    assert json.loads(new.read_text().splitlines()[0])["payload"]["resumed_from"] == "aaaa-1"
    assert "no result for bash (cut-off)" in shown.stderr
    assert "forbidden: bash rm *" in shown.stderr
    assert "\x1b" not in shown.stdout + shown.stderr
    told = json.loads(muniment("resume", "aaaa", "--json").stdout)
    assert [event["type"] for event in told["chain"]] == ["user", "tool_call"]
    assert told["unanswered"][0]["id"] == "cut-off"


def test_a_session_that_is_not_there(muniment: Run, session: Recorder) -> None:
    shown = muniment("resume", "zzzz")
    assert shown.returncode == 3
    assert "hint:" in shown.stderr
    assert muniment("verify", "nowhere.jsonl").returncode == 3
    assert muniment("resume", "aaaa", "--format", "codex").returncode == 7


def test_fork_takes_the_last_messages_along(muniment: Run, session: Recorder) -> None:
    told = json.loads(muniment("fork", "aaaa", "--last", "1", "--summary", "so far", "--json").stdout)
    assert told["messages"] == 1
    branch = json.loads(Path(told["path"]).read_text().splitlines()[1])
    assert branch["payload"]["summary"] == "so far"


def test_history_shows_the_newest_prompt_first(muniment: Run, project: Path) -> None:
    with Recorder.start(cwd=project) as rec:
        rec.user("one")
        rec.user("two")
    assert [row["prompt"] for row in json.loads(muniment("history", "--json").stdout)] == ["two", "one"]
    assert [row["prompt"] for row in json.loads(muniment("history", "--json", "--oldest").stdout)] == ["one", "two"]
    assert "two" in muniment("history", "--limit", "1").stdout


def test_verify_finds_nothing_wrong_with_a_crashed_session(muniment: Run, session: Recorder) -> None:
    shown = muniment("verify")
    assert shown.returncode == 0
    assert "no terminator" in shown.stdout
    assert "mark" in shown.stdout


def test_verify_tells_of_every_change(muniment: Run, session: Recorder) -> None:
    mark = json.loads(muniment("verify", "--json").stdout)["mark"]
    session.path.write_bytes(session.path.read_bytes().replace(b"login", b"logon"))
    shown = muniment("verify", "--mark", mark)
    assert shown.returncode == 1
    assert "not what was sealed" in shown.stderr


def test_verify_tells_of_damage_without_a_seal(muniment: Run, project: Path) -> None:
    with Recorder.start(cwd=project) as rec:
        rec.user("one")
    lines = rec.path.read_bytes().splitlines(keepends=True)
    rec.path.write_bytes(lines[0] + b"\0\0\0\n" + lines[2])
    shown = muniment("verify")
    assert shown.returncode == 1
    assert "3 NUL bytes" in shown.stderr
    assert "which is not there" in shown.stderr
