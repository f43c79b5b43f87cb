"""A killed `unbundle` leaves a store that can be read, and running it again gives what an undisturbed run gives."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.faults.checks import differences, left_over, not_restored, view
from tests.faults.traced import CALLS, Traced, needs_strace
from tests.faults.world import Tree, copy, done, kill, large, run, small, start

KILLS = int(os.environ.get("MUNIMENT_KILLS", "4"))
LAGS = re.compile(
    "differs? from the evidence|differs? from (the|its) rounds|differs from the index|does not know|missing"
)
SAID = ("engagements.jsonl", "edits.jsonl", "agent-roster.jsonl")


def bundled(folder: Path, tree: Tree) -> Path:
    """Sessions of another machine, with what was found in them and said about them."""
    store, path = folder / "there", folder / "x.bundle"
    done(store, "inscribe", tree.home)
    done(store, "ingest")
    first, *_ = ids = [tree.sessions[number].id for number in sorted(tree.sessions)]
    done(store, "tag", first, "1", "lamp-work")
    done(store, "roster", "add", first, "--name", "Reed", "--role", "historian")
    done(store, "bundle", *ids, "-o", path)
    return path


def known_here(folder: Path) -> Path:
    """An archive that has the beginning of session 0, another session 1, all of session 2, and one of its own."""
    tree = small(folder / "here", 3)
    tree.transcript(0).write_bytes(b"".join(tree.transcript(0).read_bytes().splitlines(keepends=True)[:4]))
    changed = tree.transcript(1).read_bytes().replace(b"lighthouse", b"beacon")
    tree.transcript(1).write_bytes(changed)
    tree.add(7, rounds=2)
    done(folder / "before", "inscribe", tree.home)
    done(folder / "before", "ingest")
    return folder / "before"


def whole(store: Path) -> dict[str, Any]:
    """Everything derived, and the records of what was said."""
    said = {name: (store / "data" / "sessions" / name) for name in SAID}
    return view(store) | {name: sorted(path.read_bytes().splitlines()) for name, path in said.items() if path.exists()}


def broken(store: Path) -> list[str]:
    """What a person must not meet who looks at the store right after the kill. That documents lag behind the evidence
    is told, and is put right by the next run."""
    if not (store / "data" / "sessions" / "sessions.db").exists():
        return []
    looks = [(run(store, "sessions"), (0,)), (run(store, "search", "lighthouse"), (0, 3))]
    wrong = [repr(ran) for ran, codes in looks if ran.code not in codes or "Traceback" in ran.err]
    checked = run(store, "check", "--stored").out
    problems = [line for line in checked.splitlines() if "problem:" in line and not LAGS.search(line)]
    return wrong + problems + (["the evidence is damaged"] if re.search("^restore +[^e ]", checked, re.M) else [])


def wrong_after(store: Path, expected: dict[str, Any], bundle: Path) -> list[str]:
    """What running it again does not put right."""
    found = broken(store)
    again = run(store, "unbundle", bundle)
    found += [repr(again)] if again.code else []
    made = whole(store)
    found += [name for name in expected.keys() | made.keys() if expected.get(name) != made.get(name)]
    found += [str(path) for path in (store / "data").glob(".unbundling-*")] + left_over(store)
    return found


@needs_strace
@pytest.mark.parametrize("here", ["nothing", "some of it"])
def test_at_system_calls(tmp_path: Path, here: str) -> None:
    bundle = bundled(tmp_path, small(tmp_path / "home", 4))
    before = known_here(tmp_path) if here == "some of it" else tmp_path / "nothing"
    doomed = Traced(tmp_path, before, "unbundle", bundle)
    expected = whole(doomed.store)
    assert len(doomed.points) > 50
    wrong: list[str] = []
    for call, ordinal in doomed.some(*CALLS):
        doomed.kill_at(call, ordinal)
        wrong += [f"killed at {call} {ordinal}: {what}" for what in wrong_after(doomed.store, expected, bundle)]
    assert not wrong, "\n".join(wrong)


def test_at_any_moment(tmp_path: Path) -> None:
    tree = large(tmp_path / "home")
    bundle = bundled(tmp_path, tree)
    store = tmp_path / "store"
    began = time.monotonic()
    done(store, "unbundle", bundle)
    seconds = time.monotonic() - began
    expected = whole(store)
    assert not_restored(store, tree, tmp_path / "back") == []
    for number in range(KILLS):
        moment = 0.1 + (seconds - 0.1) * (number + 0.5) / KILLS
        store = tmp_path / f"store{number}"
        process = start(store, "unbundle", bundle)
        time.sleep(moment)
        kill(process)
        assert wrong_after(store, expected, bundle) == [], f"killed after {moment:.3f} s"


def test_one_that_is_at_work_keeps_its_folder(tmp_path: Path) -> None:
    """Only what a dead run left is removed."""
    bundle = bundled(tmp_path, small(tmp_path / "home", 2))
    store = copy(tmp_path / "there", tmp_path / "store")
    (store / "data" / ".unbundling-dead" / "sessions").mkdir(parents=True)
    slow = "import time; from muniment.bundle import verify; old = verify.verify;"
    slow += "verify.verify = lambda *given: (print('unpacked', flush=True), time.sleep(60), old(*given))"
    process = start(store, "unbundle", bundle, patch=slow)
    try:
        assert process.stdout
        assert process.stdout.readline() == b"unpacked\n"
        (at_work,) = (store / "data").glob(".unbundling-*")
        assert differences(store, view(tmp_path / "there")) == []
        done(store, "unbundle", bundle)
        assert list((store / "data").glob(".unbundling-*")) == [at_work]
    finally:
        kill(process)
    done(store, "unbundle", bundle)
    assert list((store / "data").glob(".unbundling-*")) == []
