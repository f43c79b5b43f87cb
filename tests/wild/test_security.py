"""Ids that want out of their folder, files that anybody can read, texts that act, secrets that travel."""

from __future__ import annotations

import contextlib
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from muniment.errors import MunimentError, StoreError
from muniment.export import Request
from muniment.record import Recorder, append_transcript
from muniment.restore import Target
from tests.builder import ClaudeSession
from tests.conftest import tree

from .scenes import Machine, finish, session_id, start

ESCAPES = ["../../outside", "/tmp/../outside", "..", "a/b", "..\\outside", "a\0b", "~root", "%2e%2e/x", ".hidden", ""]

# -- ids as paths


@pytest.mark.parametrize("bad", ESCAPES)
def test_wild_hermes_agent_54852(project: Path, bad: str) -> None:
    """An id of a session led the writer out of the folder of sessions."""
    before = tree(project.parent)
    with pytest.raises(ValueError, match="id of a session"):
        Recorder.start(cwd=project, session_id=bad)
    with pytest.raises(ValueError, match="id of a session"):
        append_transcript(bad, {"type": "note", "payload": 1, "uuid": "u"}, root=project)
    assert tree(project.parent) == before


@pytest.mark.parametrize("bad", [bad for bad in ESCAPES if bad])
def test_wild_agentscope_1249(project: Path, bad: str) -> None:
    """A second name beside the session's, of a user or a task, led out just as well."""
    rec = Recorder.start(cwd=project)
    with pytest.raises(ValueError, match="id of a session"), rec.sidechain(bad) as child:
        child.append("note", "outside")
    rec.close()
    assert {path.parent.name for path in project.parent.rglob("*.jsonl")} == {".transcripts"}


@pytest.mark.parametrize("bad", ["../../secret", "../secret.jsonl", "%2e%2e%2fsecret"])
def test_wild_c9watch_27(project: Path, machine: Machine, bad: str) -> None:
    """A crafted id gave somebody else's files to whoever asked for a conversation."""
    (project.parent / "secret.jsonl").write_text('{"type":"user","payload":{"text":"stolen"}}\n')
    Recorder.start(cwd=project).close()
    machine.inscribe(project)
    with pytest.raises(MunimentError):
        machine.archive.restore(bad)
    with pytest.raises(MunimentError):
        Recorder.resume(bad, cwd=project)


@pytest.mark.parametrize("bad", [bad for bad in ESCAPES if "\0" not in bad])
def test_wild_bounty_challenge_11641(machine: Machine, tmp_path: Path, bad: str) -> None:
    """The id inside a session's file, written by others, became part of a path."""
    session = ClaudeSession(bad, cwd="/proj/shop")
    session.id = bad
    session.fixed["sessionId"] = bad
    session.exchange("hello", "hi")
    given = tmp_path / "given" / "loose.jsonl"
    given.parent.mkdir()
    given.write_bytes(session.data)
    machine.one(given.parent)
    (row,) = machine.archive.sessions()
    out = tmp_path / "x" / "y" / "out"
    with contextlib.suppress(StoreError):  # refused, or written inside
        machine.archive.export(row.session_id, Request("claude-code", to=out))
    machine.archive.export(row.session_id, Request("claude-code", to=out, new_id=True))
    machine.archive.restore(row.session_id, Target(to=tmp_path / "x" / "y" / "back"))
    inside = {"given", "store", "user", "x"}
    assert {path.name for path in tmp_path.iterdir()} <= inside
    assert {path.name for path in (tmp_path / "x" / "y").iterdir()} == {"out", "back"}
    assert not list(machine.archive.layout.root.parent.glob("outside*"))


# -- who can read it


def exposed(root: Path) -> list[str]:
    """Files and folders that others than the owner can look into."""
    return [str(path) for path in root.rglob("*") if stat.S_IMODE(path.lstat().st_mode) & 0o077]


@pytest.mark.usefixtures("careless")
def test_wild_claude_code_26362(project: Path, tmp_path: Path) -> None:
    """Outputs of the agent lay where every user of the machine could read them."""
    with Recorder.start(cwd=project, seal=True) as rec:
        rec.user("the password is swordfish")
        (project / "a.txt").write_text("before")
        rec.before_edit(project / "a.txt")
        with rec.sidechain("task") as child:
            child.append("note", "swordfish")
    (project / "a.txt").chmod(0o600)
    assert exposed(project) == []
    assert exposed(tmp_path / "recorder") == []


@pytest.mark.usefixtures("careless")
def test_wild_claude_code_18679(machine: Machine, tmp_path: Path) -> None:
    """The folder of one user told all others the names of the projects."""
    machine.claude("s")
    machine.inscribe()
    assert exposed(machine.archive.layout.root) == []
    machine.archive.restore(session_id("s"), Target(to=tmp_path / "back"))
    machine.archive.export(session_id("s"), Request("claude-code", to=tmp_path / "out"))
    assert exposed(tmp_path / "back") + exposed(tmp_path / "out") == []


RECORD = """
    import sys
    from pathlib import Path
    from muniment import Archive
    from muniment.record import Recorder
    with Recorder.start(cwd=sys.argv[1]) as rec:
        rec.user("hello")
    Archive(sys.argv[2]).inscribe([Path(sys.argv[1])])
"""


def test_wild_claude_code_14085(tmp_path: Path) -> None:
    """Names in the folder for temporary files could be guessed, and taken beforehand by somebody else."""
    temporary, folder = tmp_path / "tmp", tmp_path / "proj"
    temporary.mkdir()
    folder.mkdir()
    finish(start(RECORD, folder, tmp_path / "store", TMPDIR=str(temporary), MUNIMENT_RECORDER=str(tmp_path / "home")))
    assert list(temporary.iterdir()) == []
    outside = tmp_path / "outside.jsonl"
    outside.write_text("mine\n")
    (folder / ".transcripts" / "guessed.jsonl").symlink_to(outside)
    with pytest.raises(MunimentError):
        Recorder.start(cwd=folder, session_id="guessed", home=tmp_path / "home")
    assert outside.read_text() == "mine\n"


# -- texts that act

CLI = """
    import sys
    from muniment.surfaces.cli.main import main
    sys.argv = ["muniment", "--store", *sys.argv[1:]]
    main()
"""


def printed(machine: Machine, *words: str) -> str:
    """What the command line says on this machine, whatever it comes to."""
    return finish(start(CLI, machine.archive.layout.root, *words, HOME=str(machine.home.parent)), ends=(0, 1))


def control_characters(text: str) -> list[str]:
    """Characters that a terminal would obey."""
    return [c for c in text if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 or c == "\u202e"]


def test_wild_claude_code_log_244(machine: Machine) -> None:
    """Text of a transcript ran as a script in what was made of it: here none of it commands a terminal."""
    hostile = "<script>alert(1)</script>\x1b]52;c;cm0=\x07\x1b[2J\x9b31m\u202eevil"
    session = ClaudeSession(session_id("s"), cwd=f"/proj/{hostile}")
    session.exchange(hostile, hostile)
    machine.put(session)
    machine.one()
    for words in (["sessions"], ["show", "last"], ["doctor"]):
        shown = printed(machine, *words)
        assert control_characters(shown) == [], words
    assert "\x1b" not in machine.document(session.id)
    assert machine.words(session.id)[-1] == hostile


# -- secrets

SECRET = "sk-ant-" + "a1" * 20


def test_wild_claude_code_63593(project: Path) -> None:
    """Keys that a tool had printed lay in transcripts, and went with the project wherever it went."""
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    with Recorder.start(cwd=project) as rec:
        rec.tool_result(rec.tool_call("bash", {"command": "env"}), f"KEY={SECRET}")
        with rec.sidechain("task") as child:
            child.append("note", SECRET)
    subprocess.run(["git", "-C", str(project), "add", "-A"], check=True)
    staged = subprocess.run(["git", "-C", str(project), "ls-files"], check=True, capture_output=True, text=True)
    assert staged.stdout == ""


def test_wild_openclaw_12182(machine: Machine, project: Path) -> None:
    """Outputs of commands stood in the transcripts of everybody who could open them."""
    with Recorder.start(cwd=project) as rec:
        rec.user("show the key")
        rec.tool_result(rec.tool_call("bash", {"command": "env"}), f"KEY={SECRET}")
    machine.inscribe(project)
    holding = [path for path in machine.archive.layout.root.rglob("*") if path.is_file() and SECRET in text_of(path)]
    assert holding
    assert {stat.S_IMODE(path.stat().st_mode) for path in [*holding, rec.path]} == {0o600}
    assert SECRET not in printed(machine, "sessions") + printed(machine, "doctor")


def text_of(path: Path) -> str:
    return path.read_text(errors="replace")


def test_wild_openclaw_130180(machine: Machine, project: Path, tmp_path: Path) -> None:
    """A placeholder for a secret was read back by the agent and written into its settings."""
    with Recorder.start(cwd=project) as rec:
        rec.tool_result(rec.tool_call("bash", {"command": f"KEY={SECRET} run"}), "done")
    with Recorder.resume("last", cwd=project) as resumed:
        assert resumed.chain[0].payload["input"] == {"command": f"KEY={SECRET} run"}
    session = ClaudeSession(session_id("s"), cwd="/proj/shop")
    session.exchange(f"use {SECRET}", "used")
    path = machine.put(session)
    machine.one()
    assert machine.restored(session.id, path, tmp_path / "back") == session.data
    exported = machine.archive.export(session.id, Request("claude-code", to=tmp_path / "out"))
    assert f"use {SECRET}" in Path(exported.paths[0]).read_text()
