"""A `muniment watch` as a process, and the home it watches."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

CLI = [sys.executable, "-m", "muniment.surfaces.cli.main"]
PATIENCE = 20.0
"""Seconds. A watch is far faster; the machine of a test may be busy."""


def until(true: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Wait until something holds, and give it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := true():
            return result
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds:.0f} s: {what}")


class Watched:
    """A running watch, and the events it told."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.events: list[dict[str, Any]] = []
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line)

    def told(self, event: str, **fields: Any) -> dict[str, Any] | None:
        """The first event like this so far."""
        with contextlib.suppress(queue.Empty):
            while True:
                self.events.append(json.loads(self._lines.get_nowait()))
        return next((e for e in self.events if e["event"] == event and fields.items() <= e.items()), None)

    def wait_for(self, event: str, **fields: Any) -> dict[str, Any]:
        def heard() -> dict[str, Any] | None:
            assert self.process.poll() is None or self.told(event, **fields), "the watch has ended"
            return self.told(event, **fields)

        return until(heard, f"{event} {fields}; told: {self.events}")

    def count(self, event: str, **fields: Any) -> int:
        self.told("")
        return sum(e["event"] == event and fields.items() <= e.items() for e in self.events)

    def end(self, number: int) -> tuple[int, float]:
        """Send a signal; gives the exit code and how long the end took."""
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(timeout=PATIENCE)
        took = time.monotonic() - began
        self._reader.join(PATIENCE)
        self.told("")
        return code, took


class Machine:
    """A user's home with an agent's in it, and a store."""

    def __init__(self, root: Path) -> None:
        self.user = root / "user"
        self.home = self.user / ".claude"
        self.store = root / "store"
        self.user.mkdir()

    @property
    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        return {**kept, "HOME": str(self.user), "LANG": "C.UTF-8"}

    @contextlib.contextmanager
    def watch(self, *options: str, ready: bool = True, prefix: Sequence[str] = ()) -> Iterator[Watched]:
        command = [*prefix, *CLI, "--store", str(self.store), "watch", "--json", *options]
        process = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        watched = Watched(process)
        try:
            if ready:
                watched.wait_for("watching")
            yield watched
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe:
                    pipe.close()

    def run(self, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        command = [*CLI, "--store", str(self.store), *arguments]
        return subprocess.run(command, env=env or self.env, capture_output=True, text=True, timeout=60)


def append(path: Path, lines: Sequence[bytes]) -> None:
    with path.open("ab") as file:
        file.writelines(lines)
