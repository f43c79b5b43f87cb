"""The tool itself deletes: the archive tells the danger beforehand, keeps what it was given and gives it all back."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.record import Recorder, read_history
from muniment.record.transcript import dialect_named, load, recorded
from tests.builder import ClaudeSession

from .scenes import THREAD, Machine, contents, exchanged, finish, meta, session_id, start, texts, turn


def all_come_back(machine: Machine, before: dict[Path, bytes]) -> None:
    """Nothing is forgotten, also after another run over what is left; then every file returns as it was."""
    machine.inscribe()
    assert len(machine.listed()) == len(before)
    machine.restore_all()
    assert contents(machine.transcripts()) == before


# -- cleaned up after some days


def test_wild_claude_code_90866(machine: Machine) -> None:
    """Sessions older than 30 days were erased at start, without a word before or after."""
    for number in range(4):
        machine.claude(f"s{number}", days_old=29 + number)
    told = machine.archive.doctor()
    assert [(round(risk.days_left), risk.inscribed) for risk in told.at_risk] == [(n, False) for n in (-2, -1, 0, 1)]
    machine.inscribe()
    before = contents(machine.transcripts())
    assert len(machine.sweep()) == 3
    all_come_back(machine, before)


def test_wild_claude_code_86730(machine: Machine) -> None:
    """The same cleanup took 58 of 69 sessions at once."""
    for number in range(69):
        machine.claude(f"s{number}", rounds=1, days_old=31 if number < 58 else 1)
    machine.inscribe()
    before = contents(machine.transcripts())
    gone = machine.sweep()
    assert len(gone) == 58
    assert set(machine.archive.doctor().vanished) == {path.stem for path in gone}
    all_come_back(machine, before)


def test_wild_claude_code_85466(machine: Machine) -> None:
    """About 950 sessions vanished; what is kept must stay readable without any file of the agent."""
    for number in range(95):
        machine.claude(f"s{number}", rounds=1, days_old=40)
    machine.inscribe()
    machine.sweep()
    shutil.rmtree(machine.home)
    for number in range(95):
        assert machine.words(session_id(f"s{number}"))[-1] == f"s{number} reply 0"


def test_wild_claude_code_84279(machine: Machine) -> None:
    """The user learnt of the deletion only afterwards: the doctor says beforehand what is not safe yet."""
    machine.claude("kept", days_old=26)
    machine.inscribe()
    machine.claude("forgotten", days_old=26)
    told = machine.archive.doctor()
    assert not told.healthy
    assert {risk.session_id: risk.inscribed for risk in told.at_risk} == {
        session_id("kept"): True,
        session_id("forgotten"): False,
    }
    machine.inscribe()
    assert machine.archive.doctor().healthy


def test_wild_claude_code_90667(machine: Machine) -> None:
    """What was put back from a backup kept its old time and was erased again at the next start."""
    path = machine.claude("old", days_old=60)
    machine.inscribe()
    machine.sweep()
    machine.restore_all()
    assert time.time() - path.stat().st_mtime < 60
    assert machine.sweep() == []


# -- young files, with their side folders left behind


def side_files(path: Path) -> dict[Path, bytes]:
    sub = ClaudeSession(path.stem, isSidechain=True, agentId="a1")
    sub.exchange("look into it", "found it")
    wanted = {"subagents/agent-a1.jsonl": sub.data, "tool-results/t1.txt": b"long output"}
    for name, data in wanted.items():
        file = path.with_suffix("") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return contents([path.with_suffix("") / name for name in wanted])


def test_wild_claude_code_79758(machine: Machine) -> None:
    """Transcripts of a few days were removed while their folders stayed, orphaned."""
    path = machine.claude("young", days_old=5)
    beside = side_files(path)
    machine.inscribe()
    before = path.read_bytes()
    machine.sweep(days=3)
    machine.inscribe()
    assert machine.row(path.stem).rounds == 2
    machine.restore_all()
    assert path.read_bytes() == before
    assert contents(list(beside)) == beside


def test_wild_claude_code_90371(machine: Machine) -> None:
    """Nothing but the side folders was left when somebody looked: they are kept, and what is lost has a name."""
    path = machine.claude("gone", days_old=9)
    beside = side_files(path)
    machine.claude("gone whole").unlink()
    machine.sweep(days=3)
    assert machine.archive.doctor().lost == (session_id("gone whole"),)
    machine.inscribe()
    assert machine.row(path.stem).sidechains == 1
    shutil.rmtree(path.with_suffix(""))
    machine.restore_all()
    assert contents(list(beside)) == beside


# -- all of them, or the one in use


def test_wild_claude_code_74798(machine: Machine) -> None:
    """A sweep emptied the whole projects folder."""
    for number in range(5):
        machine.claude(f"s{number}")
    machine.inscribe()
    before = contents(machine.transcripts())
    shutil.rmtree(machine.home / "projects")
    all_come_back(machine, before)


def test_wild_claude_code_64206(machine: Machine) -> None:
    """The session in use was removed and went on in a new file of the same name, without its beginning."""
    path = machine.claude("live", rounds=3)
    machine.inscribe()
    before = path.read_bytes()
    path.unlink()
    rest = ClaudeSession(path.stem, cwd="/proj/shop")
    rest.exchange("where were we?", "at the end")
    path.write_bytes(rest.data)
    assert machine.one().what == "version"
    row = machine.row(path.stem)
    assert (row.versions, machine.words(path.stem)[-1]) == (1, "at the end")
    (version,) = (machine.archive.shelf(row).folder / "versions").iterdir()
    assert b"live reply 2" in (version / f"{path.stem}.md").read_bytes()
    path.write_bytes(before)
    assert machine.one().what == "version"
    assert machine.words(path.stem)[-1] == "live reply 2"


def test_wild_claude_code_88126(project: Path, machine: Machine) -> None:
    """The transcript of a running session was deleted under it, and it went on writing into nothing."""
    rec = Recorder.start(cwd=project)
    rec.user("one")
    machine.inscribe(project)
    rec.path.unlink()
    rec.user("two")
    rec.close()
    assert any("deleted" in word for word in rec.damage)
    assert texts(load(rec.path, rec.dialect).events) == ["two"]
    machine.inscribe(project)
    assert machine.words(rec.session_id) == ["two"]
    row = machine.row(rec.session_id)
    kept = (machine.archive.shelf(row).folder / "versions").rglob("*.md")
    assert any("one" in path.read_text() for path in kept)


def test_wild_claude_code_54907(machine: Machine, tmp_path: Path) -> None:
    """After a reboot the agent's whole home was empty; the next one may even lie in another place."""
    path = machine.claude("s")
    machine.inscribe()
    before = path.read_bytes()
    shutil.rmtree(machine.home)
    elsewhere = Archive(machine.archive.layout.root, {"HOME": str(tmp_path / "new")})
    elsewhere.restore(path.stem)
    assert (tmp_path / "new" / ".claude" / path.relative_to(machine.home)).read_bytes() == before


# -- updates


def test_wild_claude_code_41591(machine: Machine) -> None:
    """An automatic update left none of 520 sessions."""
    for number in range(52):
        machine.claude(f"s{number}", rounds=1)
    machine.inscribe()
    before = contents(machine.transcripts())
    for path in before:
        path.unlink()
    assert len(machine.archive.doctor().vanished) == 52
    all_come_back(machine, before)


def test_wild_claude_code_36272(machine: Machine) -> None:
    """After an update the prompt history still named sessions whose transcripts were gone."""
    machine.claude("kept")
    machine.inscribe()
    machine.claude("not yet")
    for path in machine.transcripts():
        path.unlink()
    told = machine.archive.doctor()
    assert (told.vanished, told.lost) == ((session_id("kept"),), (session_id("not yet"),))
    assert not told.healthy


def test_wild_codex_27734(machine: Machine, tmp_path: Path) -> None:
    """After an update the client's index pointed at rollouts that were not there any more."""
    path = machine.rollout(meta() + turn(1) + turn(2))
    names = machine.codex / "session_index.jsonl"
    names.write_text(f'{{"id":"{THREAD}","thread_name":"Shop"}}\n')
    machine.inscribe()
    before = path.read_bytes()
    path.unlink()
    assert machine.archive.doctor().lost == ()
    assert machine.words(THREAD) == exchanged(1, 2)
    machine.restore_all()
    assert path.read_bytes() == before


# -- backups and indexers that follow the loss


def mirror(source: Path, target: Path) -> None:
    """What `rsync --delete` does."""
    wanted = {path.relative_to(source) for path in source.rglob("*.jsonl")}
    for path in list(target.rglob("*.jsonl")):
        if path.relative_to(target) not in wanted:
            path.unlink()
    for name in wanted:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, target / name)


def test_wild_claude_code_37962(machine: Machine, tmp_path: Path) -> None:
    """A live transcript was removed, and the mirrored backup then removed its copy, too."""
    path, backup = machine.claude("live", rounds=4), tmp_path / "backup"
    mirror(machine.home / "projects", backup)
    machine.inscribe(machine.home, backup)
    before = path.read_bytes()
    path.unlink()
    mirror(machine.home / "projects", backup)
    assert list(backup.rglob("*.jsonl")) == []
    machine.inscribe(machine.home, backup)
    machine.restore_all()
    assert [copy.read_bytes() for copy in [path, *backup.rglob("*.jsonl")]] == [before, before]


def test_wild_agentic_coding_flywheel_setup_330(machine: Machine) -> None:
    """852 of 1,120 conversations were gone before the indexer came to them, and nobody noticed."""
    for number in range(28):
        machine.claude(f"s{number}", rounds=1, days_old=31 if number < 21 else 0)
    plan = machine.archive.plan(machine.archive.find())
    gone = {path.stem for path in machine.sweep()}
    outcomes = []
    machine.archive.run(plan, outcomes.append)
    assert {outcome.session_id for outcome in outcomes if outcome.what == "failed"} == gone
    assert len(machine.listed()) == 7
    assert set(machine.archive.doctor().lost) == gone


# -- resuming and rebooting


def test_wild_gemini_cli_27368(project: Path) -> None:
    """A resumed session was taken for an empty one at the next start and deleted."""
    first = Recorder.start(cwd=project)
    first.user("hello")
    first.close()
    before = first.path.read_bytes()
    for _ in range(3):
        Recorder.resume(first.session_id, cwd=project).close()
        assert first.path.read_bytes() == before
    rows = recorded(project, dialect_named("native"))
    assert len(rows) == 4
    assert first.session_id in {row.session_id for row in rows}
    assert texts(Recorder.resume("last", cwd=project).chain) == ["hello"]


HARNESS = """
    import sys
    from muniment.record import Recorder
    with Recorder.start(cwd=sys.argv[1]) as rec:
        rec.user("before the reboot")
"""


def test_wild_gemini_cli_27222(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chats lay in the folder for temporary files, which a reboot empties."""
    temporary, home, folder = tmp_path / "tmp", tmp_path / "home", tmp_path / "proj"
    for made in (temporary, home, folder):
        made.mkdir()
    env = {"TMPDIR": str(temporary), "HOME": str(home), "XDG_DATA_HOME": "", "MUNIMENT_RECORDER": ""}
    finish(start(HARNESS, folder, **env))
    assert list(temporary.iterdir()) == []
    shutil.rmtree(temporary)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert texts(Recorder.resume("last", cwd=folder).chain) == ["before the reboot"]
    assert [entry["prompt"] for entry in read_history()] == ["before the reboot"]
