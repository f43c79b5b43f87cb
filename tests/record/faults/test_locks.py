"""Who may write: stopped, killed and forked holders of the lock, threads, interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from muniment.errors import NotRecorded
from muniment.record import disk, log

from .engine import FORM, another, line, uuids

HOLD = "log.append(line('theirs')); fcntl.flock(log._descriptor, fcntl.LOCK_EX)"


def test_a_stopped_holder_is_named_and_not_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = log.Log(path, FORM)
    monkeypatch.setattr(disk, "LOCK_SECONDS", 0.3)
    with another(path, HOLD) as holder:
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(NotRecorded, match=f"locked by process {holder.pid}"):
            mine.append(line("mine"))
    mine.append(line("mine"))
    mine.close()
    assert uuids(path) == ["theirs", "mine"]


def test_a_killed_holder_lets_go(path: Path) -> None:
    mine = log.Log(path, FORM)
    with another(path, HOLD) as holder:
        holder.kill()
        holder.wait()
        mine.append(line("mine"))
    mine.close()
    assert uuids(path) == ["theirs", "mine"]


def test_a_forked_child_does_not_keep_the_lock_of_its_dead_parent(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child lives on and never touches the log."""
    monkeypatch.setattr(disk, "LOCK_SECONDS", 2)
    note = path.with_name("child")
    fork = f"""
child = os.fork()
if not child:
    time.sleep(60)
    os._exit(0)
Path({str(note)!r}).write_text(str(child))
"""
    mine = log.Log(path, FORM)
    with another(path, HOLD + fork) as parent:
        child = int(note.read_text())
        try:
            time.sleep(0.1)
            parent.kill()
            parent.wait()
            mine.append(line("mine"))
        finally:
            os.kill(child, signal.SIGKILL)
    mine.close()
    assert uuids(path) == ["theirs", "mine"]


def test_no_descriptor_reaches_a_program_that_is_started(path: Path) -> None:
    opened = log.Log(path, FORM)
    opened.append(line("a"))
    script = "import os; print([os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if int(n) > 2])"
    listed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, close_fds=False).stdout
    opened.close()
    assert path.name not in listed


def test_a_log_that_was_closed_before_a_fork_is_left_alone(path: Path) -> None:
    """Its number may be somebody else's file by now."""
    closed = log.Log(path, FORM)
    number = closed._descriptor
    closed.close()
    other = os.open(path.parent, os.O_RDONLY)
    assert other == number, "the number was given again"
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(writer, b"open" if os.path.exists(f"/proc/self/fd/{other}") else b"shut")
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reader, 10) == b"open"
    for descriptor in (other, reader, writer):
        os.close(descriptor)


def test_threads_share_a_log(path: Path) -> None:
    opened = log.Log(path, FORM)
    acks: dict[str, log.Ack] = {}

    def work(name: str) -> None:
        for number in range(40):
            acks[f"{name}{number}"] = opened.append(line(f"{name}{number}"), durable=number % 3 == 0)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    opened.close()
    lines = path.read_bytes().split(b"\n")
    assert sorted(uuids(path)) == sorted(acks)
    for uuid, ack in acks.items():
        assert json.loads(lines[ack.line_number - 1])["uuid"] == uuid
        assert path.read_bytes()[ack.byte_offset :].startswith(lines[ack.line_number - 1])


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupted_wait_does_not_stop_the_others(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while another thread syncs for us; then the log is closed, as a `with` block does."""
    opened = log.Log(path, FORM)
    real, began, go_on = os.fdatasync, threading.Event(), threading.Event()

    def slow(descriptor: int) -> None:
        began.set()
        go_on.wait(60)
        real(descriptor)

    def interrupt() -> None:
        while not opened._group._waiting:
            time.sleep(0.01)
        time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(os, "fdatasync", slow)
    leader = threading.Thread(target=lambda: opened.append(line("leader"), durable=True))
    leader.start()
    began.wait()
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        opened.append(line("interrupted"), durable=True)
    go_on.set()
    leader.join()
    closing = threading.Thread(target=opened.close, daemon=True)
    closing.start()
    closing.join(60)
    assert not closing.is_alive(), "nobody leads, everybody waits"
    assert "leader" in uuids(path)
