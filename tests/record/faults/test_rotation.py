"""The history is rotated while its writers are killed: no acknowledged prompt is lost, none is there twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from muniment.record.conformance.plugin import Counts
from muniment.record.history import read_entries

MAX_BYTES = 4096
AT_WORK = 5
"""Prompts after which a writer may be killed."""
BATCH = 25
WRITER = textwrap.dedent("""
    import sys
    from pathlib import Path
    from muniment.record.history import History
    name, path, limit = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    history = History(path, max_bytes=limit)
    for n in range(100_000):
        history.append(f"{name} {n} {'x' * (n % 120)}", name, "2026-01-02T03:04:05.000Z", f"{name}-{n}", durable=False)
        sys.stdout.write(f"{name}-{n}\\n")
        sys.stdout.flush()
""")


def writer(name: str, path: Path, acked: Path) -> subprocess.Popen[bytes]:
    with acked.open("wb") as out:
        return subprocess.Popen([sys.executable, "-c", WRITER, name, str(path), str(MAX_BYTES)], stdout=out)


def until_told(acked: Path, lines: int) -> None:
    """Until a writer is at work, however slow the machine is."""
    end = time.monotonic() + 60
    while acked.read_bytes().count(b"\n") < lines and time.monotonic() < end:
        time.sleep(0.01)


def test_rotation_under_kill(tmp_path: Path, counts: Counts) -> None:
    """In batches, each with a history of its own: every rotation renames all that were rotated away before."""
    random.seed(counts.seed)
    writers = max(8, counts.kills // 4)
    for first in range(0, writers, BATCH):
        killed_at_work(tmp_path / str(first), min(BATCH, writers - first))


def killed_at_work(folder: Path, writers: int) -> None:
    path = folder / "home" / "history.jsonl"
    folder.mkdir()
    acks = [folder / f"acked-{number}" for number in range(writers)]
    running: list[subprocess.Popen[bytes]] = []
    for number, acked in enumerate(acks):
        running.append(writer(f"w{number}", path, acked))
        if len(running) >= 3:
            until_told(acked, AT_WORK)
            time.sleep(random.uniform(0, 0.2))
            kill(running.pop(random.randrange(len(running))))
    for left in running:
        kill(left)
    told = [line for ack in acks for line in ack.read_text().split("\n")[:-1]]
    found = [entry.uuid for entry in read_entries(path, 10_000_000, False, {})]
    assert len(told) > AT_WORK * (len(acks) - 2), "each was killed at its work"
    assert set(told) <= set(found)
    assert len(found) == len(set(found))
    longest = 400
    assert all(file.stat().st_size <= MAX_BYTES + longest for file in path.parent.glob("history.jsonl*"))


def kill(victim: subprocess.Popen[bytes]) -> None:
    victim.send_signal(signal.SIGKILL)
    victim.wait()
