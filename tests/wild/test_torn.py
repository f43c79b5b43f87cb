"""Torn, glued and zeroed records, and whole files rewritten in place: what is whole is read, the rest has its place."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from muniment.errors import StoreError
from muniment.inscribe import Outcome
from muniment.record import Recorder
from muniment.record.inspect import inspect
from tests.builder import conversation

from .scenes import THREAD, Machine, events, exchanged, finish, meta, running, said, session_id, start, texts, turn


def damaged(machine: Machine, data: bytes, session: str, path: Path, into: Path) -> Outcome:
    """Inscribe a damaged file; whatever is wrong with it, the archive gives the very bytes back."""
    path.write_bytes(data)
    outcome = machine.one()
    assert machine.restored(session, path, into) == data
    return outcome


def recording(project: Path, prompts: int) -> Recorder:
    """A session that ended, with so many prompts."""
    rec = Recorder.start(cwd=project)
    for number in range(prompts):
        rec.user(f"prompt {number}")
    rec.close()
    return rec


def numbered(*numbers: int) -> list[str]:
    return [f"prompt {number}" for number in numbers]


# -- one line is damaged


def test_wild_claude_code_53821(machine: Machine, project: Path, tmp_path: Path) -> None:
    """A power loss cut the last line, and the resumed session was blank."""
    path = machine.claude("s", rounds=3)
    whole = path.read_bytes()
    outcome = damaged(machine, whole[:-40], path.stem, path, tmp_path / "back")
    assert "unfinished" in outcome.problems[0].what
    assert machine.words(path.stem)[:2] == ["s prompt 0", "On it."]
    assert machine.row(path.stem).rounds == 3
    rec = recording(project, 4)
    rec.path.write_bytes(rec.path.read_bytes()[:-25])
    assert inspect(rec.path).unfinished > 0
    with Recorder.resume("last", cwd=project) as resumed:
        assert texts(resumed.chain) == numbered(0, 1, 2, 3)


def test_wild_claude_code_50347(machine: Machine, project: Path, tmp_path: Path) -> None:
    """The reader stopped at the first bad line and said nothing of the hundreds behind it."""
    session = conversation(40, session_id("s"))
    path = machine.put(session)
    session.lines.insert(3, b'{"type":"user","message":{"ro\n')
    outcome = damaged(machine, session.data, session.id, path, tmp_path / "back")
    (problem,) = outcome.problems
    assert problem.offset == session.data.index(session.lines[3])
    assert machine.row(session.id).rounds == 40
    assert machine.words(session.id)[-1] == "reply 39"
    rec = recording(project, 40)
    lines = rec.path.read_bytes().splitlines(keepends=True)
    rec.path.write_bytes(b"".join([*lines[:2], b'{"type":"us\n', *lines[2:]]))
    with Recorder.resume("last", cwd=project) as resumed:
        assert texts(resumed.chain) == numbered(*range(40))
        assert any(f"{len(lines[0]) + len(lines[1])}" in word for word in resumed.problems)


def test_wild_claude_code_49876(machine: Machine, project: Path, tmp_path: Path) -> None:
    """A block of NUL bytes stood in the middle of the file, and everything before it was forgotten without a word."""
    path = machine.claude("s", rounds=6)
    data = path.read_bytes()
    middle = data.index(b"\n", len(data) // 2) + 1
    hurt = data[:middle] + b"\0" * 4096 + data[middle:]
    outcome = damaged(machine, hurt, path.stem, path, tmp_path / "back")
    assert [problem.offset for problem in outcome.problems] == [middle]
    assert "NUL" in outcome.problems[0].what
    words = machine.words(path.stem)
    assert (words[0], words[-1]) == ("s prompt 0", "s reply 5")
    rec = recording(project, 6)
    lines = rec.path.read_bytes().splitlines(keepends=True)
    rec.path.write_bytes(b"".join([*lines[:3], b"\0" * 4096, *lines[3:]]))
    with Recorder.resume("last", cwd=project) as resumed:
        assert texts(resumed.chain) == numbered(*range(6))
        assert any("4096 NUL bytes" in word for word in resumed.problems)


def test_wild_claude_code_59811(machine: Machine, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A register of sessions was all NUL after a crash, and the session was not to be found any more."""
    path = machine.claude("s")
    for registry in (machine.home / "sessions" / "1.json", machine.home / "history.jsonl"):
        registry.parent.mkdir(exist_ok=True)
        registry.write_bytes(b"\0" * 700)
    machine.inscribe()
    assert machine.listed() == [path.stem]
    machine.archive.restore(path.stem)
    rec = recording(project, 1)
    register = rec.home / "places.jsonl"
    register.write_bytes(b"\0" * register.stat().st_size)
    machine.archive.env = {**machine.archive.env, "MUNIMENT_RECORDER": str(rec.home)}
    recording(project, 1)
    machine.inscribe()
    assert rec.session_id in machine.listed()


def test_wild_codex_24425(machine: Machine, project: Path, tmp_path: Path) -> None:
    """Half a line was followed by a full copy of it on the same line, and the session disappeared."""
    start_, torn, rest = meta() + turn(1), said("user", "ask 2"), said("assistant", "answer 2") + turn(3)
    data = start_ + torn[:60] + torn + rest
    path = machine.rollout(b"")
    outcome = damaged(machine, data, THREAD, path, tmp_path / "back")
    (problem,) = outcome.problems
    assert (problem.offset, problem.length) == (len(start_), 60)
    assert [words for words in exchanged(1, 2, 3) if words not in machine.words(THREAD)] == []
    rec = recording(project, 3)
    lines = rec.path.read_bytes().splitlines(keepends=True)
    rec.path.write_bytes(b"".join([*lines[:2], lines[2][:50], *lines[2:]]))
    with Recorder.resume("last", cwd=project) as resumed:
        assert texts(resumed.chain) == numbered(0, 1, 2)
        assert len(resumed.problems) == 1


# -- records that do not count on


def test_wild_codex_45150(machine: Machine, tmp_path: Path) -> None:
    """One record had no ordinal, and the client refused to resume the whole session."""
    data = meta(ordinal=0) + said("user", "ask 1", ordinal=1) + said("assistant", "answer 1") + turn(2, ordinal=3)
    outcome = damaged(machine, data, THREAD, machine.rollout(data), tmp_path / "back")
    assert outcome.problems == ()
    assert machine.words(THREAD) == exchanged(1, 2)


def test_wild_codex_38341(machine: Machine, tmp_path: Path) -> None:
    """An ordinal came twice after a crash, and the thread was left out of the list."""
    data = meta(ordinal=0) + turn(1, ordinal=1) + turn(2, ordinal=1) + turn(3, ordinal=9)
    damaged(machine, data, THREAD, machine.rollout(data), tmp_path / "back")
    assert machine.listed() == [THREAD]
    assert machine.words(THREAD) == exchanged(1, 2, 3)


# -- whole files rewritten in place

ENDLESS = """
    import sys
    from muniment.record import Recorder
    rec = Recorder.start(cwd=sys.argv[1], session_id="killed")
    print("ready", flush=True)
    for number in range(100_000):
        rec.assistant(f"answer {number} " + "x" * 300)
        sys.stdout.write(f"{number}\\n")
        sys.stdout.flush()
"""


def test_wild_gemini_cli_14933(project: Path) -> None:
    """Every message rewrote the whole chat file; a crash in the middle lost the chat."""
    with running(ENDLESS, project) as process:
        assert process.stdout
        acknowledged = [int(process.stdout.readline()) for _ in range(400)]
        process.kill()
        acknowledged += [int(line) for line in process.stdout.read().split(b"\n")[:-1]]
    with Recorder.resume("killed", cwd=project) as resumed:
        found = [int(text.split()[1]) for text in texts(resumed.chain)]
    assert found[: len(acknowledged)] == acknowledged


def test_wild_gemini_cli_26782(machine: Machine) -> None:
    """The rewritten file came out empty."""
    path = machine.claude("s", rounds=3)
    machine.inscribe()
    before = path.read_bytes()
    path.write_bytes(b"")
    machine.inscribe()
    assert machine.words(path.stem)[-1] == "s reply 2"
    machine.archive.restore(path.stem)
    assert path.read_bytes() == before


def test_wild_gemini_cli_25031(machine: Machine) -> None:
    """The rewriting was cut off halfway, and the old content was gone by then."""
    path = machine.claude("s", rounds=3)
    machine.inscribe()
    before = path.read_bytes()
    path.write_bytes(before[: len(before) // 2])
    assert machine.one().what == "shrunk"
    assert machine.words(path.stem)[-1] == "s reply 2"
    machine.archive.restore(path.stem)
    assert path.read_bytes() == before


def test_wild_hermes_agent_15085(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transcript was opened for rewriting, which emptied it, and then the writing failed."""
    flags, real = [], os.open
    monkeypatch.setattr(os, "open", lambda path, how, *more, **kw: flags.append(how) or real(path, how, *more, **kw))
    rec = Recorder.start(cwd=project)
    sizes, inode = [], rec.path.stat().st_ino
    for number in range(6):
        kept = rec.user(f"prompt {number}").uuid
        if number == 3:
            rec.compact("so far", first_kept=kept)
        sizes.append(rec.path.stat().st_size)
    with Recorder.resume(rec.session_id, cwd=project) as resumed:
        resumed.user("go on")
    rec.close()
    assert not any(how & os.O_TRUNC for how in flags)
    assert sizes == sorted(sizes)
    assert rec.path.stat().st_ino == inode


def test_wild_hermes_agent_611(machine: Machine) -> None:
    """An index of sessions was emptied by a failed rewriting, and no session was known any more."""
    for number in range(3):
        machine.claude(f"s{number}")
    machine.inscribe()
    known = machine.listed()
    machine.archive.layout.database.write_bytes(b"")
    with pytest.raises(StoreError, match="index") as told:
        machine.listed()
    assert "reindex" in told.value.hint
    machine.archive.reindex()
    assert machine.listed() == known


PRUNER = """
    import os, sys
    size = os.path.getsize(sys.argv[1])
    os.truncate(sys.argv[1], size - 70)
"""


def test_wild_cozempic_147(machine: Machine, project: Path) -> None:
    """Another tool pruned the transcript of a running agent in the middle of a line."""
    rec = Recorder.start(cwd=project)
    for number in range(3):
        rec.user(f"prompt {number}")
    machine.inscribe(project)
    before = rec.path.read_bytes()
    finish(start(PRUNER, rec.path))
    rec.user("prompt 3")
    rec.close()
    assert any("cut short" in word for word in rec.damage)
    assert any("unfinished" in word for word in rec.damage)
    assert "recovery" in [event.get("type") for event in whole(rec.path)]
    with Recorder.resume(rec.session_id, cwd=project) as resumed:
        assert texts(resumed.chain) == numbered(0, 1, 3)
    machine.inscribe(project)
    shutil.rmtree(project / ".transcripts")
    kept = machine.archive.shelf(machine.row(rec.session_id)).folder
    assert b"prompt 2" in before
    assert any("prompt 2" in path.read_text() for path in kept.rglob("*.md"))
    assert "prompt 3" in machine.document(rec.session_id)


def whole(path: Path) -> list[dict]:
    """The events of a file, its damaged lines left out."""
    path_ = path.with_suffix(".whole")
    path_.write_bytes(b"".join(line for line in path.read_bytes().splitlines(True) if line.endswith(b"}\n")))
    return events(path_)
