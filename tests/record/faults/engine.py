"""Our engine in the hands of a test: lines for it, and another process that has it open."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muniment.model.events import USER, Event, Written
from muniment.record.conformance.processes import environment

from .subjects import FORM, Ours

needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")


def line(uuid: str, text: str = "words", at: str = "2026-01-02T03:04:05.678Z") -> Written:
    [written] = FORM.lines([Event(USER, at, uuid, None, {"text": text})])
    return written


def uuids(path: Path) -> list[str]:
    return [uuid for uuid, _ in Ours().read(path)]


@contextmanager
def another(path: Path, work: str) -> Iterator[subprocess.Popen[str]]:
    """Another process with `log` open; it has done its work when this begins, and then waits."""
    code = f"""
import fcntl, os, signal, sys, time
from pathlib import Path
from tests.record.faults.engine import FORM, line
from muniment.record import disk
from muniment.record.log import Log
log = Log(Path({str(path)!r}), FORM)
{work}
print("ready", flush=True)
time.sleep(60)
"""
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()
