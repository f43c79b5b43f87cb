"""The files of a project: where they lie, several agents at once, what is over, and planted links."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from muniment.errors import Ambiguous, Conflict, NotFound, StoreError
from muniment.prospective import folder, steps
from muniment.prospective.speaker import speaker
from muniment.prospective.steps import Begin, Speaker


def by(agent: str = "Reed") -> Speaker:
    return Speaker(folder.now(), agent)


def begin(root: Path, id_: str = "login") -> folder.Told:
    return folder.begin(root, Begin(topic="Make it work", method="build", id=id_), by())


def test_the_nearest_folder_counts(tmp_path: Path) -> None:
    inner = tmp_path / "proj" / "src"
    inner.mkdir(parents=True)
    assert folder.root(inner, {}) == inner / ".engagements"
    (tmp_path / "proj" / ".engagements").mkdir()
    assert folder.root(inner, {}) == tmp_path / "proj" / ".engagements"
    assert folder.root(inner, {"MUNIMENT_ENGAGEMENTS": str(tmp_path / "x")}) == tmp_path / "x"


def test_what_is_over_moves_to_the_archive(tmp_path: Path) -> None:
    begin(tmp_path)
    folder.say(tmp_path, "login", lambda record: steps.phase(record, "in-progress", by()))
    told = folder.say(tmp_path, "log", lambda record: steps.complete(record, by(), "It works."))
    assert told.path == tmp_path / "archive" / "login" / "engagement.md"
    assert not (tmp_path / "login").exists()
    assert [one.archived for one in folder.every(tmp_path)] == [True]
    with pytest.raises(Conflict, match="already"):
        begin(tmp_path)
    with pytest.raises(Conflict, match="completed"):
        folder.say(tmp_path, "login", lambda record: steps.phase(record, "in-progress", by()))


def test_a_beginning_must_be_clear(tmp_path: Path) -> None:
    begin(tmp_path, "login-1")
    begin(tmp_path, "login-2")
    with pytest.raises(Ambiguous):
        folder.find(tmp_path, "login")
    with pytest.raises(NotFound):
        folder.find(tmp_path, "logout")
    with pytest.raises(NotFound):
        folder.find(tmp_path, "")


def _decide(root: Path, agent: str, count: int) -> None:
    for number in range(count):
        folder.say(root, "login", lambda record, n=number: steps.decide(record, f"{agent} {n}", by(agent)))


def test_several_agents_lose_nothing_of_each_other(tmp_path: Path) -> None:
    begin(tmp_path)
    context = multiprocessing.get_context("spawn")
    agents = [context.Process(target=_decide, args=(tmp_path, name, 10)) for name in ("Reed", "Moss", "Fern")]
    for agent in agents:
        agent.start()
    for agent in agents:
        agent.join(60)
        assert agent.exitcode == 0
    record = folder.find(tmp_path, "login").record
    assert record
    assert sorted(record.decisions) == sorted(f"{name} {n}" for name in ("Reed", "Moss", "Fern") for n in range(10))
    log = folder.find(tmp_path, "login").data.decode()
    assert log.count("decided: ") == 30


def test_planted_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "engagement.md").write_text("---\nid: login\nphase: started\n---\n")
    root = tmp_path / "root"
    begin(root, "other")
    (root / "login").symlink_to(outside)
    assert [told.path.parent.name for told in folder.every(root)] == ["other"]
    with pytest.raises(Conflict):
        begin(root)
    (root / "other" / "engagement.md").unlink()
    (root / "other" / "engagement.md").symlink_to(outside / "engagement.md")
    assert list(folder.every(root)) == []
    link = tmp_path / "link"
    link.symlink_to(root)
    with pytest.raises(StoreError, match="link"):
        begin(link, "third")


def test_a_file_that_cannot_be_read_is_told_and_not_lost(tmp_path: Path) -> None:
    path = begin(tmp_path).path
    path.write_bytes(b"---\nid: login\nphase: nearly there\n---\nmine\n")
    (told,) = folder.every(tmp_path)
    assert told.record is None
    assert "nearly there" in told.problem
    with pytest.raises(StoreError, match="nearly there"):
        folder.say(tmp_path, "login", lambda record: steps.decide(record, "x", by()))
    assert path.read_bytes().endswith(b"mine\n")


def test_the_environment_tells_who_speaks() -> None:
    assert speaker({"CLAUDE_CODE_SESSION_ID": "s1"}).session_id == "s1"
    assert speaker({"CODEX_THREAD_ID": "s2", "MUNIMENT_SESSION": "s3"}).session_id == "s3"
    said = speaker({"MUNIMENT_AGENT": "Reed\x1b[2J"}, None, "s4")
    assert (said.agent, said.session_id) == ("Reed [2J", "s4")


def run(cwd: Path, *args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MUNIMENT", "CLAUDE", "CODEX"))}
    command = [sys.executable, "-m", "muniment.surfaces.cli.main", "--store", str(cwd / "store"), "engagement", *args]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done


def test_the_commands_from_start_to_end(tmp_path: Path) -> None:
    run(tmp_path, "start", "Make", "it", "work", "--method", "build", "--id", "login", "--agent", "Reed")
    wrong = run(tmp_path, "complete", "login", code=6)
    assert "hint: from there it goes on to in-progress" in wrong.stderr
    run(tmp_path, "phase", "login", "in-progress")
    run(tmp_path, "decide", "login", "keep", "the", "cookie")
    run(tmp_path, "obligation", "login", "tell", "ada")
    assert "login" in run(tmp_path, "list").stdout
    run(tmp_path, "obligation", "login", "--close", "1")
    run(tmp_path, "handoff", "login", "--to", "Moss")
    run(tmp_path, "phase", "login", "in-progress", "--agent", "Moss")
    run(tmp_path, "complete", "login", "--outcome", "It works.")
    assert json.loads(run(tmp_path, "list", "--json").stdout) == []
    (one,) = json.loads(run(tmp_path, "list", "--all", "--json").stdout)
    assert (one["phase"], one["decisions"], one["participants"]) == ("completed", ["keep the cookie"], ["Reed", "Moss"])
    assert "handed-off → in-progress (Moss)" in run(tmp_path, "show", "login").stdout
