"""Run one command and measure it: wall time, processor time, peak memory of everything it starts.

The command leads a session of its own (setsid), so all its descendants can be found by session id in
/proc, also those whose parent has ended. That makes the harness a Linux one.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FINE_SECONDS = 0.02
"""Between samples of a run whose peak memory is wanted. Counting shared pages of several processes takes time that the
processes miss, so runs that are timed are sampled coarsely, only to hold the ceiling."""
COARSE_SECONDS = 0.5
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Ceiling:
    """Where a run is cut off, so that a tool without bounds cannot take the machine with it."""

    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class Run:
    """What one process and its children cost."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    exit_code: int
    stopped: str = ""
    """Why the harness ended the run, empty when it ended by itself."""


def measure(command: Sequence[str], env: Mapping[str, str], log: Path, ceiling: Ceiling, fine: bool = False) -> Run:
    """Run the command to its end, output into `log`, and say what it cost."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        started = time.perf_counter()
        child = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
        watch = MemoryWatch(child.pid, started, ceiling, FINE_SECONDS if fine else COARSE_SECONDS)
        try:
            watch.start()
            _, status, usage = os.wait4(child.pid, 0)  # its maximum of memory counts what this process had at the fork
            seconds = time.perf_counter() - started
        finally:
            watch.finish()
            end_session(child.pid)
    child.returncode = os.waitstatus_to_exitcode(status)
    return Run(seconds, usage.ru_utime + usage.ru_stime, watch.peak_bytes, child.returncode, watch.stopped)


class MemoryWatch(threading.Thread):
    """Samples the memory of one session of processes and ends it above the ceiling."""

    def __init__(self, session: int, started: float, ceiling: Ceiling, pause: float) -> None:
        super().__init__(daemon=True)
        self._pause = pause
        self.peak_bytes = 0
        self.stopped = ""
        self._session, self._since, self._ceiling = session, started, ceiling
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(self._pause):
            now = members(self._session)
            # The kernel's own maximum is exact for one process; sampling may miss a short peak of it.
            self.peak_bytes = max(self.peak_bytes, memory_of(now), *map(high_water_bytes, now))
            self.stopped = self._reason_to_stop()
            if self.stopped:
                end_session(self._session)
                return

    def finish(self) -> None:
        self._done.set()
        self.join()

    def _reason_to_stop(self) -> str:
        passed = time.perf_counter() - self._since
        if self.peak_bytes > self._ceiling.memory_bytes:
            return f"stopped after {passed:.0f} s at {self.peak_bytes / 2**30:.1f} GiB of memory"
        return f"stopped after {passed:.0f} s" if passed > self._ceiling.seconds else ""


def members(session: int) -> list[int]:
    """The live processes of a session; nothing but a system call per process, so it is cheap."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and session_of(int(name)) == session]


def session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def memory_of(pids: Sequence[int]) -> int:
    """Resident memory; of several processes each shared page is counted once (PSS)."""
    read = resident_bytes if len(pids) == 1 else proportional_bytes
    return sum(read(pid) for pid in pids)


def resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * PAGE_BYTES
    except (OSError, IndexError):
        return 0


def high_water_bytes(pid: int) -> int:
    """The most resident memory so far of one process, since its program was started."""
    try:
        lines = Path(f"/proc/{pid}/status").read_bytes().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(b"VmHWM:")), 0)


def proportional_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:")), 0)


def end_session(session: int) -> None:
    """Leave nothing running of what a command started."""
    for pid in members(session):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
