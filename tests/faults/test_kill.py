"""A killed inscription, append or reindex leaves nothing that running it again does not put right."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .checks import differences, left_over, not_restored, view
from .traced import CALLS, Traced, needs_strace
from .world import Tree, copy, done, kill, large, run, small, start

KILLS = int(os.environ.get("MUNIMENT_KILLS", "4"))
"""Moments per command; more of them for a longer night."""


def moments(seconds: float) -> list[float]:
    """Spread over the whole run, the start of the interpreter left out."""
    return [0.1 + (seconds - 0.1) * (number + 0.5) / KILLS for number in range(KILLS)]


def killed(store: Path, after: float, *words: object) -> None:
    process = start(store, *words)
    time.sleep(after)
    kill(process)


def timed(store: Path, *words: object) -> float:
    began = time.monotonic()
    done(store, *words)
    return time.monotonic() - began


def test_inscribe_at_any_moment(tmp_path: Path) -> None:
    tree = large(tmp_path / "home")
    seconds = timed(tmp_path / "whole", "inscribe", tree.home)
    expected = view(tmp_path / "whole")
    for number, moment in enumerate(moments(seconds)):
        store = tmp_path / f"store{number}"
        killed(store, moment, "inscribe", tree.home)
        done(store, "inscribe", tree.home)
        assert differences(store, expected) == [], f"killed after {moment:.3f} s"
    assert not_restored(store, tree, tmp_path / "back") == []


def test_one_store_killed_again_and_again(tmp_path: Path) -> None:
    tree = large(tmp_path / "home")
    seconds = timed(tmp_path / "whole", "inscribe", tree.home)
    store = tmp_path / "store"
    for moment in moments(seconds):
        killed(store, moment, "inscribe", tree.home)
    done(store, "inscribe", tree.home)
    assert differences(store, view(tmp_path / "whole")) == []
    assert not_restored(store, tree, tmp_path / "back") == []
    assert "30 unchanged" in done(store, "inscribe", tree.home).out


def test_append_at_any_moment(tmp_path: Path) -> None:
    tree = large(tmp_path / "home")
    before = tmp_path / "before"
    done(before, "inscribe", tree.home)
    tree.grow(rounds=3)
    done(tmp_path / "whole", "inscribe", tree.home)
    expected = view(tmp_path / "whole")
    seconds = timed(copy(before, tmp_path / "appended"), "append")
    assert differences(tmp_path / "appended", expected) == []
    for number, moment in enumerate(moments(seconds)):
        store = copy(before, tmp_path / f"store{number}")
        killed(store, moment, "append")
        done(store, "append")
        assert differences(store, expected) == [], f"killed after {moment:.3f} s"
    assert not_restored(store, tree, tmp_path / "back") == []


def test_reindex_at_any_moment(tmp_path: Path) -> None:
    tree = large(tmp_path / "home")
    whole = tmp_path / "whole"
    done(whole, "inscribe", tree.home)
    expected = view(whole)
    seconds = timed(copy(whole, tmp_path / "reindexed"), "reindex")
    assert differences(tmp_path / "reindexed", expected) == []
    for number, moment in enumerate(moments(seconds)):
        store = copy(whole, tmp_path / f"store{number}")
        killed(store, moment, "reindex")
        assert differences(store, expected) == [], f"the old index is whole, killed after {moment:.3f} s"
        done(store, "reindex")
        assert differences(store, expected) == [], f"killed after {moment:.3f} s"
    assert not_restored(store, tree, tmp_path / "back") == []


def test_a_killed_parent_takes_its_workers_along(tmp_path: Path) -> None:
    """Only the process that a person sees is killed; what it started must not keep the store locked."""
    tree = large(tmp_path / "home")
    seconds = timed(tmp_path / "whole", "inscribe", tree.home)
    for moment in moments(seconds)[1:3]:
        store = tmp_path / f"store{moment}"
        process = start(store, "inscribe", tree.home)
        time.sleep(moment)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        again = start(store, "inscribe", tree.home)
        try:
            _, err = again.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            kill(again)
            pytest.fail(f"killed after {moment:.3f} s, its workers hold the lock of the store for ever")
        finally:
            kill(process)
        assert again.returncode == 0, err
        assert differences(store, view(tmp_path / "whole")) == []


# -- at system calls


def traced(folder: Path, command: str) -> tuple[Traced, Tree]:
    """A command of the archive on two sessions; `whole` beside it is what an undisturbed run gives."""
    tree = small(folder / "home", 2)
    before = folder / "before"
    if command != "inscribe":
        done(before, "inscribe", tree.home)
    if command == "append":
        tree.grow()
    done(folder / "whole", "inscribe", tree.home)
    return Traced(folder, before, *(("inscribe", tree.home) if command == "inscribe" else (command,))), tree


@needs_strace
@pytest.mark.parametrize("command", ["inscribe", "append", "reindex"])
def test_at_system_calls(tmp_path: Path, command: str) -> None:
    doomed, tree = traced(tmp_path, command)
    expected = view(tmp_path / "whole")
    assert len(doomed.points) > 50
    wrong: list[str] = []
    for call, ordinal in doomed.some(*CALLS):
        doomed.kill_at(call, ordinal)
        again = run(doomed.store, *doomed.words)
        found = [repr(again)] if again.code else differences(doomed.store, expected)
        found = found or not_restored(doomed.store, tree, tmp_path / f"back-{call}-{ordinal}")
        wrong += [f"killed at {call} {ordinal}: {what}" for what in found]
    assert not wrong, "\n".join(wrong)


@needs_strace
@pytest.mark.parametrize(
    ("command", "calls"),
    [("inscribe", ("rename", "mkdir")), ("append", ("rename",)), ("reindex", ("rename", "pwrite64"))],
)
def test_no_temporary_file_stays(tmp_path: Path, command: str, calls: tuple[str, ...]) -> None:
    """What a killed run was building is removed by a later one: an index being built is as large as the index."""
    doomed, _ = traced(tmp_path, command)
    left: set[str] = set()
    for call, ordinal in doomed.some(*calls)[-4:]:
        doomed.kill_at(call, ordinal)
        done(doomed.store, "reindex")
        left |= {re.sub(r"\.\d+\.part", ".PID.part", name) for name in left_over(doomed.store)}
    assert left == set()
