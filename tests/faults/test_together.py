"""Several processes inscribe the same folder while an agent goes on writing to it."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from .checks import differences, left_over, not_restored, view
from .world import Tree, done, finish, kill, large, run, small, start


class LiveWriter(threading.Thread):
    """An agent at work: lines arrive in halves, now in this transcript, now in that one."""

    def __init__(self, tree: Tree, numbers: tuple[int, ...]) -> None:
        super().__init__()
        self.tree = tree
        self.numbers = numbers
        self.enough = threading.Event()
        self.lines = 0

    def run(self) -> None:
        while not self.enough.is_set():
            for number in self.numbers:
                for line in self.tree.sessions[number].round():
                    self._write(self.tree.transcript(number), line)

    def _write(self, path: Path, line: bytes) -> None:
        middle = len(line) // 2
        for part in (line[:middle], line[middle:]):
            with path.open("ab") as out:
                out.write(part)
            time.sleep(0.002)
        self.lines += 1


@pytest.mark.parametrize("count", [2, 3])
def test_several_at_once(tmp_path: Path, count: int) -> None:
    tree = large(tmp_path / "home")
    store = tmp_path / "store"
    together = [start(store, "inscribe", tree.home) for _ in range(count)]
    for ran in [finish(process) for process in together]:
        assert ran.code == 0, ran
    done(tmp_path / "alone", "inscribe", tree.home)
    assert differences(store, view(tmp_path / "alone")) == []
    assert not_restored(store, tree, tmp_path / "back") == []
    assert left_over(store) == []


@pytest.mark.parametrize("count", [1, 3])
def test_while_an_agent_writes(tmp_path: Path, count: int) -> None:
    tree = small(tmp_path / "home", 5)
    store = tmp_path / "store"
    writer = LiveWriter(tree, (0, 1, 4))
    writer.start()
    try:
        for _ in range(4):
            for ran in [finish(p) for p in [start(store, "inscribe", tree.home) for _ in range(count)]]:
                assert ran.code == 0, ran
    finally:
        writer.enough.set()
        writer.join()
    assert writer.lines > 50
    done(store, "inscribe", tree.home)
    done(tmp_path / "alone", "inscribe", tree.home)
    assert differences(store, view(tmp_path / "alone")) == []
    assert not_restored(store, tree, tmp_path / "back") == []


def test_while_an_agent_writes_and_runs_are_killed(tmp_path: Path) -> None:
    tree = small(tmp_path / "home", 5)
    store = tmp_path / "store"
    done(store, "inscribe", tree.home)
    writer = LiveWriter(tree, (0, 1, 4))
    writer.start()
    try:
        for number in range(6):
            process = start(store, "append")
            time.sleep(0.15 + number * 0.03)
            kill(process)
    finally:
        writer.enough.set()
        writer.join()
    done(store, "append")
    done(tmp_path / "alone", "inscribe", tree.home)
    assert differences(store, view(tmp_path / "alone")) == []
    assert not_restored(store, tree, tmp_path / "back") == []


def test_a_half_line_is_completed_later(tmp_path: Path) -> None:
    """Cut at many places of one line: each time an inscription in between, never a trace of it afterwards."""
    tree = small(tmp_path / "home", 1)
    store = tmp_path / "store"
    path = tree.transcript(0)
    for line in tree.sessions[0].round()[:2]:
        for begin, end in ((0, 1), (1, len(line) - 2), (len(line) - 2, len(line) - 1), (len(line) - 1, len(line))):
            with path.open("ab") as out:
                out.write(line[begin:end])
            done(store, "inscribe", tree.home)
    done(tmp_path / "alone", "inscribe", tree.home)
    assert differences(store, view(tmp_path / "alone")) == []
    assert not_restored(store, tree, tmp_path / "back") == []


def test_readers_do_not_wait_for_a_stopped_writer(tmp_path: Path) -> None:
    """A writer that stands still, its transaction open, keeps nobody from reading."""
    tree = large(tmp_path / "home")
    store = tmp_path / "store"
    done(store, "inscribe", tree.home)
    tree.grow()
    before = latest(store)
    process = start(store, "inscribe", tree.home)
    while latest(store) == before and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGSTOP)
    read = run(store, "sessions", timeout=120)
    os.killpg(process.pid, signal.SIGCONT)
    assert finish(process).code == 0
    assert read.code == 0


def latest(store: Path) -> int:
    """When a session in the store was last written to; the index is open by then."""
    return max(path.stat().st_mtime_ns for path in store.rglob("*.json"))
