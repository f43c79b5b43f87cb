"""The parts of a watch: when things are due, which session a file belongs to, and what happens without hints."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from muniment import scanning
from muniment.archive import Archive
from muniment.batch import Plan
from muniment.errors import StoreError
from muniment.inscribe import Outcome, key_path
from muniment.sources import find_everywhere
from muniment.sources.base import Found
from muniment.sources.claude import ClaudeCode
from muniment.watching import Event, Pace, Stop, Watch, hints
from muniment.watching.pace import Pending
from muniment.watching.places import Places
from muniment.watching.recent import KEEP_SECONDS, MAX_RECENT, Recent
from tests.builder import conversation

from .watched import append, until

FIRST = "11111111-1111-4111-8111-111111111111"
SECOND = "22222222-2222-4222-8222-222222222222"
NOBODY = 65534


# -- pace


def test_a_session_is_due_when_it_pauses_or_has_waited_long_enough() -> None:
    pending = Pending(Pace(quiet=3, latest=30))
    pending.touch(["pauses", "busy"], 100)
    assert pending.take_due(102) == ()
    for second in range(101, 129):
        pending.touch(["busy"], second)
    assert pending.take_due(103) == ("pauses",)
    assert pending.take_due(129.9) == ()
    assert pending.take_due(130) == ("busy",)
    assert pending.take_all() == ()


def test_work_that_takes_long_is_done_less_often() -> None:
    pace = Pace()
    assert pace.after_inscribing(0.01) == 0.5
    assert pace.after_inscribing(0.4) == 0.8
    assert pace.after_inscribing(60) == 1.5
    assert pace.after_rescan(0.5, hints=True) == 300
    assert pace.after_rescan(3, hints=True) == 600
    assert pace.after_rescan(0.01, hints=False) == 10
    assert pace.after_rescan(1, hints=False) == 100


# -- places


def test_a_changed_file_leads_to_its_whole_session_as_a_look_at_everything_finds_it(home: Path) -> None:
    main = conversation(1, FIRST).write(home)
    old = main.with_name("agent-0ld.jsonl")
    old.write_bytes(conversation(1, FIRST).data)
    side = main.parent / FIRST / "tool-results" / "b1.txt"
    new = main.parent / FIRST / "subagents" / "agent-new.jsonl"
    for path in (side, new):
        path.parent.mkdir(parents=True)
    side.write_text("overflow")
    conversation(1, SECOND).write(home, "-other")
    env = {"HOME": str(home.parent)}
    places = Places(env)
    places.look()
    new.write_bytes(conversation(1, FIRST).data)
    wanted = {found.session_id: found for found in find_everywhere(env)}
    for path in (main, old, side, new):
        assert places.sessions_of([str(path)], 0) == [wanted[FIRST]]
    assert places.sessions_of([str(main), str(side), str(new)], 0) == [wanted[FIRST]]
    assert places.roots() == {str(home / "projects")}


def test_files_that_are_no_transcripts_lead_nowhere(home: Path) -> None:
    main = conversation(1, FIRST).write(home)
    places = Places({"HOME": str(home.parent)})
    places.look()
    for name in ("notes.txt", f"{FIRST}.jsonl.tmp", "copy.jsonl"):
        other = main.with_name(name)
        other.write_bytes(main.read_bytes())
        assert places.sessions_of([str(other)], 0) == []
    assert places.sessions_of([str(main.with_name(f"{SECOND}.jsonl")), "/nowhere/at/all"], 0) == []


def test_a_session_without_content_is_met_again_when_it_has_some(home: Path) -> None:
    conversation(1, FIRST).write(home)
    places = Places({"HOME": str(home.parent)})
    places.look()
    path = home / "projects" / "-w" / f"{SECOND}.jsonl"
    path.write_bytes(b"")
    assert places.sessions_of([str(path)], 0) == []
    path.write_bytes(conversation(1, SECOND).data)
    assert [found.session_id for found in places.sessions_of([str(path)], 0)] == [SECOND]


def test_a_glance_sees_only_what_is_new(home: Path) -> None:
    env = {"HOME": str(home.parent)}
    places = Places(env)
    assert places.look() == []
    assert places.glance() == []
    conversation(1, FIRST).write(home)
    assert [found.session_id for found in places.glance()] == [FIRST]
    assert places.glance() == []


@contextlib.contextmanager
def somebody_else() -> Iterator[Path]:
    """A folder, and no right to read what the superuser keeps from others."""
    folder = Path(tempfile.mkdtemp(prefix="muniment-"))
    folder.chmod(0o777)
    root = os.geteuid() == 0
    try:
        if root:
            os.seteuid(NOBODY)
        yield folder
    finally:
        if root:
            os.seteuid(0)
        shutil.rmtree(folder)


def test_what_may_not_be_read_is_told_and_hides_nothing_else() -> None:
    with somebody_else() as folder:
        rollouts = folder / "user" / ".codex" / "sessions" / "2026" / "01" / "02"
        rollouts.mkdir(parents=True)
        meta = '{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"id":"%s","cwd":"/proj"}}\n'
        for session in (FIRST, SECOND):
            (rollouts / f"rollout-2026-01-02T03-04-05-{session}.jsonl").write_text(meta % session)
        refused = rollouts / f"rollout-2026-01-02T03-04-05-{FIRST}.jsonl"
        refused.chmod(0)
        claude = conversation(1, FIRST, "/proj").write(folder / "user" / ".claude")
        claude.chmod(0)
        told: list[Event] = []
        watch = Watch(Archive(folder / "store", {"HOME": str(folder / "user")}), told.append, ingest=False)
        assert watch.once() is False
        assert watch.once() is False
        assert sorted((e.event, e.path) for e in told if e.event == "failed") == [
            ("failed", str(claude)),
            ("failed", str(refused)),
        ]
        assert [e.session_id for e in told if e.event == "inscribed"] == [SECOND]


# -- without hints, and with trouble


@contextlib.contextmanager
def running(watch: Watch) -> Generator[None]:
    thread = threading.Thread(target=watch.run)
    thread.start()
    try:
        yield
    finally:
        watch.stop.set()
        thread.join()


def heard(told: list[Event], *kinds: str) -> list[Event]:
    return [event for event in told if event.event in kinds]


def test_without_hints_it_looks_more_often_and_says_so_once(
    archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Sequence[str], _stop: Stop, _lenient: bool) -> Generator[list[hints.Hint]]:
        raise OSError("OS file watch limit reached")
        yield []

    monkeypatch.setattr(hints, "_stream", refuse)
    session = conversation(1, FIRST)
    path = session.write(home)
    told: list[Event] = []
    with running(Watch(archive, told.append, Pace(poll=0.2), ingest=False)):
        until(lambda: heard(told, "watching"), "it began")
        for number in range(2):
            append(path, [b'{"type":"summary","summary":"more","leafUuid":"x%d"}\n' % number])
            until(lambda count=number: len(heard(told, "inscribed")) == count + 2, "it was looked at")
    assert [event.note for event in heard(told, "trouble")] == [
        "the system does not tell of every change (OS file watch limit reached); looking more often instead"
    ]


def test_trouble_with_the_store_is_told_once_and_outlived(
    archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = conversation(1, FIRST)
    path = session.write(home)
    told: list[Event] = []
    plan = archive.plan
    full: list[int] = []

    def fail(_: object) -> None:
        full.append(1)
        raise StoreError("the disk is full")

    with running(Watch(archive, told.append, Pace(retry=0.3), ingest=False)):
        until(lambda: heard(told, "watching"), "it began")
        monkeypatch.setattr(archive, "plan", fail)
        append(path, [b'{"type":"summary","summary":"more","leafUuid":"x"}\n'])
        until(lambda: len(full) >= 3, "it tried again")
        monkeypatch.setattr(archive, "plan", plan)
        until(lambda: len(heard(told, "inscribed")) == 2, "it went on")
    assert [event.note for event in heard(told, "trouble")] == ["the disk is full"]


def test_a_bug_in_understanding_keeps_nothing_from_being_inscribed(
    archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(archive, "ingest", break_down)
    session = conversation(1, FIRST)
    path = session.write(home)
    told: list[Event] = []
    with running(Watch(archive, told.append, Pace(quiet=0.1, inscribe=0.1))):
        until(lambda: heard(told, "watching"), "it began")
        append(path, [b'{"type":"summary","summary":"more","leafUuid":"x"}\n'])
        until(lambda: len(heard(told, "inscribed")) == 2, "it went on")
    assert "ZeroDivisionError" in heard(told, "trouble")[0].note


def test_a_flood_of_changes_is_a_look_at_everything(archive: Archive, home: Path) -> None:
    conversation(1, FIRST).write(home)
    watch = Watch(archive, lambda _: None, ingest=False)
    watch.rescan_at = 1e9
    watch._note([(f"/proj/{number}", False) for number in range(2000)], 5.0)
    assert (watch.changed, watch.rescan_at) == (set(), 5.0)


# -- hints that never come


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Deaf:
    """Hints of the first so many changes, and none of the later ones: the system's library loses some on the way."""

    def __init__(self, *heard: Path) -> None:
        self.heard = list(heard)
        self.roots: frozenset[str] = frozenset()
        self.broke, self.trouble = False, ""

    def wait(self) -> list[hints.Hint]:
        return [(str(self.heard.pop(0)), False)] if self.heard else []

    def close(self) -> None:
        pass


MORE = b'{"type":"summary","summary":"more %d","leafUuid":"x"}\n'


@pytest.fixture
def deaf(archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Watch, Clock, Path, list[Event]]:
    """A watch of one session that looks at everything next in an hour, and hears of one change."""
    clock, told = Clock(), []
    path = conversation(1, FIRST).write(home)
    watch = Watch(archive, told.append, ingest=False)
    watch.work.inscribe(watch.places.look())
    told.clear()
    watch.rescan_at = 1e9
    watch.hints = Deaf(path)
    monkeypatch.setattr("muniment.watching.watch.time.monotonic", clock.monotonic)
    return watch, clock, path, told


def turn(watch: Watch, clock: Clock, seconds: float) -> None:
    """Let a watch live for so long."""
    for _ in range(int(seconds * 2)):
        watch._turn()
        clock.now += 0.5


def test_a_last_change_that_nobody_tells_of_is_found(deaf: tuple[Watch, Clock, Path, list[Event]]) -> None:
    watch, clock, path, told = deaf
    append(path, [MORE % 1])
    turn(watch, clock, 5)
    assert len(heard(told, "inscribed")) == 1
    append(path, [MORE % 2])
    turn(watch, clock, 5)
    assert len(heard(told, "inscribed")) == 2
    turn(watch, clock, 60)
    append(path, [MORE % 3])
    turn(watch, clock, 5)
    assert len(heard(told, "inscribed")) == 3, "also after a pause"
    turn(watch, clock, 60)
    assert len(heard(told, "inscribed", "failed", "trouble")) == 3, "what is not changed is left alone"


def test_what_waits_for_its_turn_is_inscribed_before_the_end(
    deaf: tuple[Watch, Clock, Path, list[Event]], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, _, path, told = deaf
    monkeypatch.setattr(watch, "_begin", lambda: None)
    watch.inscribe_at = 1e9

    def end() -> list[hints.Hint]:
        append(path, [MORE % 1])
        watch.stop.set()
        return [(str(path), False)]

    monkeypatch.setattr(watch.hints, "wait", end)
    watch.run()
    assert [event.event for event in told] == ["inscribed", "stopped"]


def test_a_session_that_failed_is_tried_again_without_another_change(
    deaf: tuple[Watch, Clock, Path, list[Event]], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, clock, path, told = deaf
    run = watch.work.archive.run

    def fail(plan: Plan, report: Callable[[Outcome], None], waiting: Callable[[], None]) -> None:
        for task in plan.tasks:
            report(Outcome(task.found.session_id, key_path(task.found), "failed", note="torn"))

    monkeypatch.setattr(watch.work.archive, "run", fail)
    append(path, [MORE % 1])
    turn(watch, clock, 5)
    assert [event.note for event in heard(told, "failed")] == ["torn"]
    monkeypatch.setattr(watch.work.archive, "run", run)
    turn(watch, clock, 40)
    assert len(heard(told, "inscribed")) == 1


def test_changes_that_one_file_hides_are_looked_for_soon(
    deaf: tuple[Watch, Clock, Path, list[Event]], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, clock, path, told = deaf
    gather, gone = ClaudeCode.gather, [True]

    def vanish(source: ClaudeCode, *asked: Any) -> Iterable[Found]:
        if gone and gone.pop():
            raise FileNotFoundError
        return gather(source, *asked)

    monkeypatch.setattr(ClaudeCode, "gather", vanish)
    monkeypatch.setattr(watch, "_rescan", lambda _: watch.work.inscribe(watch.places.look()))
    append(path, [MORE % 1])
    turn(watch, clock, 40)
    assert len(heard(told, "inscribed")) == 1


def test_only_so_many_recent_files_are_kept_in_mind(tmp_path: Path) -> None:
    recent = Recent()
    recent.note((str(tmp_path / str(number)) for number in range(MAX_RECENT + 5)), 1.0)
    assert len(recent.seen) == MAX_RECENT
    assert str(tmp_path / "0") not in recent.seen
    assert recent.find_overlooked(2.0) == set(), "what is not there was not overlooked"
    recent.find_overlooked(1.0 + KEEP_SECONDS)
    assert recent.seen == {}


def test_what_is_wrong_is_told_again_only_when_something_else_is() -> None:
    from muniment.watching.events import Complaints

    told: list[str] = []
    tell: Callable[[Event], None] = lambda event: told.append(event.note)  # noqa: E731
    complaints = Complaints(tell)
    for note in ("full", "full", "gone", "full"):
        complaints.add("store", Event("", "trouble", note=note))
    complaints.settle("store")
    complaints.add("store", Event("", "trouble", note="full"))
    assert told == ["full", "gone", "full", "full"]


def test_a_watch_scans_what_is_there_for_secrets(archive: Archive, home: Path) -> None:
    conversation(1, FIRST).write(home)
    with running(Watch(archive, lambda _: None, Pace(), ingest=False)):
        until(lambda: scanning.load(archive.layout, archive.sessions()), "it was scanned")
