"""A check of the archive beside one that inscribes: it never takes what is being written for damage."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from muniment.archive import Archive
from muniment.inscribe import Outcome
from tests.builder import conversation

RUNS = {"full": 30, "soak": 200}.get(os.environ.get("CONFORMANCE_SCALE", ""), 6)
SESSIONS = 3
TURNS = 8
"""Of writing, before all sessions begin anew: a check of long ones would take too long."""


def test_a_check_beside_a_writer_never_cries_wolf(tmp_path: Path) -> None:
    """Sessions grow, get subagents and are rewritten while the archive is checked again and again."""
    home = tmp_path / "user" / ".claude"
    env = {"HOME": str(tmp_path / "user")}
    sessions = [conversation(2, cwd=f"/{number}") for number in range(SESSIONS)]
    for session in sessions:
        session.write(home)
    Archive(tmp_path / "store", env).inscribe()
    stop, failed = threading.Event(), list[str]()

    def hear(outcome: Outcome) -> None:
        if outcome.what == "failed":
            failed.append(outcome.note)

    def write() -> None:
        turn = 0
        while not stop.is_set():
            turn = turn % TURNS + 1
            for number, session in enumerate(sessions):
                grown = conversation(2 + turn, session.id, cwd=f"/{number}")
                side = grown.write(home).with_suffix("") / "subagents" / f"agent-a{turn}.jsonl"
                side.parent.mkdir(parents=True, exist_ok=True)
                if number == turn % SESSIONS:
                    data = conversation(turn, session.id, cwd=f"/side/{number}").data
                    side.write_bytes(data.replace(b'"isSidechain":false', b'"isSidechain":true'))
            Archive(tmp_path / "store", env).inscribe([], hear)

    writer = threading.Thread(target=write)
    writer.start()
    wrong: list[str] = []
    try:
        for _ in range(RUNS):
            reports = list(Archive(tmp_path / "store", env).check_stored())
            wrong += [str(problem) for one in reports if one.note or not one.lossless for problem in one.problems]
    finally:
        stop.set()
        writer.join()
    assert wrong == []
    assert failed == []
