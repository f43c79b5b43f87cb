"""`muniment watch` as a process: what is written is found, and nothing it is hit by is lost."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.store.index import Index, lock
from tests.builder import ClaudeSession, conversation

from .watched import Machine, append, until

FIRST = "11111111-1111-4111-8111-111111111111"
SECOND = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def holds(machine: Machine, word: str) -> bool:
    """Whether the full text of the archive has a word; asked of the index itself, as any search does."""
    archive = Archive(machine.store)
    if not archive.layout.database.exists():
        return False
    with Index(archive.layout) as known:
        return bool(known.rows("SELECT 1 FROM texts_fts WHERE texts_fts MATCH ?", f'"{word}"'))


def grow(session: ClaudeSession, path: Path, prompt: str, reply: str) -> None:
    """Write another round to a session's file."""
    before = len(session.lines)
    session.exchange(prompt, reply)
    append(path, session.lines[before:])


def test_what_is_written_is_found_a_moment_later_and_understood_when_it_pauses(machine: Machine) -> None:
    session = conversation(3, FIRST)
    path = session.write(machine.home)
    with machine.watch() as watch:
        began = time.monotonic()
        grow(session, path, "where is the zebra", "in the savannah")
        until(lambda: holds(machine, "savannah"), "the new words are found")
        took = time.monotonic() - began
        assert watch.wait_for("inscribed", what="appended")["rounds"] == 4
        assert not watch.told("ingested", session_id=FIRST, engagements=4)
        ingests = watch.count("ingested")
        until(lambda: watch.count("ingested") > ingests, "ingested after a pause")
    assert took < 30  # 0.3 s on an idle machine; `bench/watching.py` measures it


def test_a_busy_session_is_not_inscribed_at_every_line(machine: Machine) -> None:
    session = conversation(1, FIRST)
    path = session.write(machine.home)
    with machine.watch("--no-ingest") as watch:
        began = time.monotonic()
        for number in range(60):
            grow(session, path, f"prompt {number}", f"reply {number}")
            time.sleep(0.03)
        grow(session, path, "the last", "okapi")
        until(lambda: holds(machine, "okapi"), "the last words are found")
        passed = time.monotonic() - began
        assert watch.count("inscribed", what="appended") <= passed / 0.5 + 2
        assert watch.count("ingested") == 0


def test_new_projects_sessions_and_subagents_are_found_by_hints_alone(machine: Machine) -> None:
    conversation(1, FIRST).write(machine.home)
    session = conversation(1, SECOND, "/proj/shop")
    with machine.watch("--interval", "60", "--no-ingest") as watch:
        path = session.write(machine.home, "-proj-shop")  # folder and file in one moment
        watch.wait_for("inscribed", what="new", session_id=SECOND)
        agent = conversation(1, SECOND)
        agent.exchange("look around", "a pangolin")
        folder = path.parent / SECOND / "subagents"
        folder.mkdir(parents=True)
        (folder / "agent-a1.jsonl").write_bytes(agent.data)
        until(lambda: holds(machine, "pangolin"), "the subagent's words are found")
        (path.parent / SECOND / "tool-results").mkdir()
        (path.parent / SECOND / "tool-results" / "b1.txt").write_text("overflow")
        until(lambda: watch.count("inscribed", session_id=SECOND, what="appended") == 2, "a side file was kept")
        (path.parent / f"{SECOND}.jsonl.bak").write_bytes(session.data)
        grow(session, path, "go on", "an aardvark")
        until(lambda: holds(machine, "aardvark"), "the session's words are found")
    assert {row.session_id: (row.sidechains, row.versions) for row in Archive(machine.store).sessions()} == {
        FIRST: (0, 0),
        SECOND: (1, 0),
    }


def test_an_agent_installed_later_is_watched_too(machine: Machine) -> None:
    with machine.watch("--interval", "60") as watch:
        session = conversation(1, FIRST)
        path = session.write(machine.home)
        watch.wait_for("inscribed", what="new", session_id=FIRST)
        grow(session, path, "and now", "a wombat")
        until(lambda: holds(machine, "wombat"), "a session in a home that was not there is followed")


@pytest.mark.parametrize("folder", [".claude", ".claude/projects", ".claude/projects/-w"])
def test_the_first_session_of_an_empty_agent_folder_is_seen(machine: Machine, folder: str) -> None:
    (machine.user / folder).mkdir(parents=True)
    with machine.watch("--interval", "600", "--no-ingest") as watch:
        session = conversation(1, FIRST)
        path = session.write(machine.home)
        watch.wait_for("inscribed", what="new", session_id=FIRST)
        grow(session, path, "and now", "a wombat")
        watch.wait_for("inscribed", what="appended", session_id=FIRST)


def test_a_folder_that_fills_up_little_by_little_is_seen(machine: Machine) -> None:
    with machine.watch("--interval", "600", "--no-ingest") as watch:
        for folder in (".codex", ".codex/sessions", ".codex/sessions/2026", ".codex/sessions/2026/01"):
            (machine.user / folder).mkdir()
            time.sleep(2.5)
        meta = '{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"id":"%s","cwd":"/proj"}}\n'
        day = machine.user / ".codex" / "sessions" / "2026" / "01" / "02"
        day.mkdir()
        (day / f"rollout-2026-01-02T03-04-05-{FIRST}.jsonl").write_text(meta % FIRST)
        watch.wait_for("inscribed", session_id=FIRST)


def test_an_empty_folder_beside_a_busy_one_is_seen(machine: Machine) -> None:
    meta = '{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"id":"%s","cwd":"/proj"}}\n'
    day, kept = (machine.user / ".codex" / name for name in ("sessions/2026/01/02", "archived_sessions"))
    for folder in (day, kept):
        folder.mkdir(parents=True)
    (day / f"rollout-2026-01-02T03-04-05-{FIRST}.jsonl").write_text(meta % FIRST)
    with machine.watch("--interval", "600", "--no-ingest") as watch:
        (kept / f"rollout-2026-01-02T03-04-05-{SECOND}.jsonl").write_text(meta % SECOND)
        watch.wait_for("inscribed", session_id=SECOND)


def test_a_watch_that_was_killed_loses_nothing(machine: Machine) -> None:
    session = conversation(1, FIRST)
    path = session.write(machine.home)
    with machine.watch("--no-ingest") as watch:
        for number in range(30):
            grow(session, path, f"prompt {number}", f"killed{number}")
            time.sleep(0.02)
        until(lambda: watch.count("inscribed", what="appended"), "in the middle of it")
        watch.process.kill()
        watch.process.wait()
    grow(session, path, "while nobody watched", "a capybara")
    with machine.watch("--no-ingest") as watch:
        watch.wait_for("inscribed", session_id=FIRST)
        assert holds(machine, "capybara")
        assert all(holds(machine, f"killed{number}") for number in range(30))
    assert machine.run("check", "--json").returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_asked_and_understands_what_was_pending(machine: Machine, number: int) -> None:
    session = conversation(4, FIRST)
    path = session.write(machine.home)
    with machine.watch() as watch:
        before = watch.count("ingested")
        grow(session, path, "one more", "a quokka")
        watch.wait_for("inscribed", what="appended")
        code, took = watch.end(number)
        assert code == 0
        assert took < 20  # 0.1 s on an idle machine
        assert watch.count("ingested") == before + 1
        assert watch.told("stopped")
    assert holds(machine, "quokka")


def test_a_store_that_another_is_writing_to_is_waited_for(machine: Machine) -> None:
    session = conversation(1, FIRST)
    path = session.write(machine.home)
    with machine.watch("--no-ingest") as watch:
        with lock(Archive(machine.store).layout, lambda: None):
            grow(session, path, "while locked", "a numbat")
            watch.wait_for("waiting")
            assert not holds(machine, "numbat")
        until(lambda: holds(machine, "numbat"), "it went on")
        with lock(Archive(machine.store).layout, lambda: None):
            grow(session, path, "again", "a dingo")
            until(lambda: watch.count("waiting") == 2, "it waits again")
            code, took = watch.end(signal.SIGTERM)
    assert code == 0
    assert took < 20  # 0.7 s of grace


def test_a_second_watch_of_a_store_takes_over_when_the_first_ends(machine: Machine) -> None:
    session = conversation(1, FIRST)
    path = session.write(machine.home)
    with machine.watch("--no-ingest") as first, machine.watch("--no-ingest", ready=False) as second:
        note = second.wait_for("waiting")["note"]
        assert str(first.process.pid) in note
        assert first.end(signal.SIGTERM)[0] == 0
        second.wait_for("watching")
        grow(session, path, "who watches", "a tapir")
        until(lambda: holds(machine, "tapir"), "the second one watches")


def test_a_session_that_fails_is_told_of_once_and_stops_no_other(machine: Machine) -> None:
    """What cannot be written: a file of the store stands where the session's folder should be."""
    machine.store.joinpath("data/sessions/claude").mkdir(parents=True)
    (machine.store / "data/sessions/claude" / FIRST).write_bytes(b"")
    bad, good = conversation(1, FIRST, "/proj/a"), conversation(1, SECOND, "/proj/b")
    path, other = bad.write(machine.home, "-proj-a"), good.write(machine.home, "-proj-b")
    with machine.watch("--no-ingest", "--interval", "0.02") as watch:
        assert watch.wait_for("failed", session_id=FIRST)["path"] == str(path)
        for number in range(3):
            grow(bad, path, "more", "of the same")
            grow(good, other, "and", f"gecko{number}")
            until(lambda word=f"gecko{number}": holds(machine, word), "the other one is inscribed")
        assert watch.count("failed") == 1


def without_watches() -> list[str]:
    """A prefix under which the system has almost no watches to give; none where that cannot be arranged."""
    prefix = ["unshare", "-Ur", "sh", "-c", 'echo 1 > /proc/sys/user/max_inotify_watches && exec "$@"', "sh"]
    try:
        allowed = subprocess.run([*prefix, "true"], capture_output=True).returncode == 0
    except OSError:
        allowed = False
    return prefix if allowed else []


def test_when_the_system_has_no_more_watches_it_says_so_and_looks_more_often(machine: Machine) -> None:
    if not (prefix := without_watches()):
        pytest.skip("this system does not let its watches be limited for one process")
    session = conversation(1, FIRST)
    path = session.write(machine.home)
    with machine.watch("--no-ingest", "--interval", "0.02", prefix=prefix) as watch:
        assert "watch limit" in watch.wait_for("trouble")["note"]
        grow(session, path, "unheard", "a serval")
        until(lambda: holds(machine, "serval"), "found without a hint")
        assert watch.count("trouble") == 1


def test_a_file_that_is_deleted_stays_in_the_archive_and_is_no_failure(machine: Machine) -> None:
    session = conversation(1, FIRST)
    path = session.write(machine.home)
    keep = conversation(1, SECOND).write(machine.home)
    with machine.watch("--no-ingest", "--interval", "0.02") as watch:
        grow(session, path, "for a moment", "a dodo")
        path.unlink()
        append(keep, [b"\n"])
        until(lambda: watch.count("inscribed", session_id=SECOND) == 2, "the next change was looked at")
        assert watch.count("failed") == watch.count("trouble") == 0
    assert {row.session_id for row in Archive(machine.store).sessions()} == {FIRST, SECOND}


def test_once_looks_at_everything_and_ends(machine: Machine) -> None:
    conversation(3, FIRST).write(machine.home)
    done = machine.run("watch", "--once")
    assert done.returncode == 0
    assert [line.split()[1:3] for line in done.stderr.splitlines()] == [
        ["11111111", "new,"],
        ["11111111", "ingested,"],
    ]
    assert machine.run("watch", "--once").stderr == ""
    quiet = machine.run("watch", "--once", "--quiet", "--json")
    assert (quiet.returncode, quiet.stdout) == (0, "")


def test_once_fails_if_a_session_does(machine: Machine) -> None:
    machine.store.joinpath("data/sessions/claude").mkdir(parents=True)
    (machine.store / "data/sessions/claude" / FIRST).write_bytes(b"")
    conversation(1, FIRST).write(machine.home)
    done = machine.run("watch", "--once", "--quiet")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
