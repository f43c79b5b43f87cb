"""How many processes inscribe a plan, and what becomes of it when one of them dies."""

from __future__ import annotations

import os
import signal
import struct
from pathlib import Path
from typing import Any

import pytest

from muniment import batch
from muniment import inscribe as one
from muniment.archive import Archive
from muniment.config import SMALL_BYTES, WORKERS
from muniment.inscribe import Outcome, Sink, Task, workers
from muniment.inscribe.workers import worthwhile
from muniment.store.index import Index
from muniment.store.layout import Layout
from tests.builder import conversation

LARGE = SMALL_BYTES
SMALL = SMALL_BYTES // 4


@pytest.mark.parametrize(
    ("sizes", "cores", "expected"),
    [
        ([], 2, 0),
        ([SMALL] * 3, 2, 0),
        ([SMALL] * 4, 2, WORKERS),
        ([SMALL] * 400, 64, WORKERS),
        ([LARGE], 2, 1),
        ([SMALL] * 400, 1, 0),
        ([SMALL, LARGE], 1, 1),
        ([], 1, 0),
    ],
)
def test_workers_are_started_where_they_help(sizes: list[int], cores: int, expected: int) -> None:
    assert worthwhile(sizes, cores) == expected


def by_workers(archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch) -> list[Outcome]:
    """Inscribe a home by as many workers as there can be, however small it is."""
    monkeypatch.setattr(workers, "SMALL_BYTES", 1)
    monkeypatch.setattr(workers, "cores", lambda: WORKERS)
    outcomes: list[Outcome] = []
    archive.inscribe([home], outcomes.append)
    return outcomes


def test_a_worker_that_dies_takes_only_its_own_session_along(
    archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second session kills its worker: the rest is inscribed all the same, in the end without workers."""
    ids = [conversation(2, f"aaaaaaaa-2222-4333-8444-55555555555{number}") for number in range(8)]
    for session in ids:
        session.write(home)
    deadly = {session.id for session in ids[::2]}
    own, inscribe = os.getpid(), one.inscribe

    def inscribe_or_die(layout: Layout, task: Task, sink: Sink) -> Outcome:
        if task.found.session_id in deadly and os.getpid() != own:
            os.kill(os.getpid(), signal.SIGKILL)
        return inscribe(layout, task, sink)

    monkeypatch.setattr(one, "inscribe", inscribe_or_die)
    outcomes = by_workers(archive, home, monkeypatch)
    failed = [outcome for outcome in outcomes if outcome.what == "failed"]
    assert len(failed) == WORKERS, "each worker died once"
    assert all("died" in outcome.note and outcome.session_id in deadly for outcome in failed)
    assert sorted(outcome.session_id for outcome in outcomes) == sorted(session.id for session in ids)
    assert {row.session_id for row in archive.sessions()} == {s.id for s in ids} - {o.session_id for o in failed}


def test_a_worker_that_dies_while_it_speaks_takes_only_its_own_session_along(
    archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [conversation(2, f"aaaaaaaa-2222-4333-8444-55555555555{number}") for number in range(4)]
    for session in ids:
        session.write(home)
    own, send = os.getpid(), workers._Said.send

    def send_or_die(self: workers._Said, message: Any) -> None:
        if getattr(message, "session_id", "") == ids[0].id and os.getpid() != own:
            os.write(self.answers.fileno(), struct.pack("!i", 1000) + b"the beginning")
            os.kill(os.getpid(), signal.SIGKILL)
        send(self, message)

    monkeypatch.setattr(workers._Said, "send", send_or_die)
    outcomes = by_workers(archive, home, monkeypatch)
    assert [outcome.session_id for outcome in outcomes if outcome.what == "failed"] == [ids[0].id]
    assert {row.session_id for row in archive.sessions()} == {session.id for session in ids[1:]}


def test_an_interruption_leaves_no_half_of_a_large_session(
    archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of a large session are let in before its end."""
    whole, cut = (conversation(2, f"aaaaaaaa-2222-4333-8444-55555555555{number}") for number in range(2))
    whole.write(home)
    archive.inscribe([home])
    cut.write(home)
    monkeypatch.setattr(batch, "HELD_BYTES", 0)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Index, "put_usage", interrupted)
        with pytest.raises(KeyboardInterrupt):
            archive.inscribe([home])
    assert [row.session_id for row in archive.sessions()] == [whole.id]
    archive.inscribe([home])
    assert {row.session_id: row.rounds for row in archive.sessions()} == {whole.id: 2, cut.id: 2}


def test_an_interruption_keeps_whole_sessions_that_wait_for_each_other(
    archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without workers they go into the index together; of the one that was under way nothing is left there."""
    ids = [f"aaaaaaaa-2222-4333-8444-55555555555{number}" for number in range(4)]
    for session in ids:
        conversation(2, session).write(home)
    put, calls = Index.put_usage, iter(range(9))

    def interrupted_once(self: Index, key: int, rows: Any) -> None:
        if next(calls) == 1:
            raise KeyboardInterrupt
        put(self, key, rows)

    with monkeypatch.context() as patched:
        patched.setattr(Index, "put_usage", interrupted_once)
        with pytest.raises(KeyboardInterrupt):
            archive.inscribe([home])
    assert len({row.session_id for row in archive.sessions()}) == 3
    archive.inscribe([home])
    assert {row.session_id: row.rounds for row in archive.sessions()} == dict.fromkeys(ids, 2)
