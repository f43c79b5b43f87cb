"""A watch at work: how soon new text is found, what waiting costs, and whether memory stays what it was.

`python -m bench.watching [--quick]` prints the figures; everything lies in a folder of its own that is removed.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from muniment import Archive
from muniment.search import Query

from .process import resident_bytes

CLI = (sys.executable, "-P", "-m", "muniment.surfaces.cli.main")


@dataclass(frozen=True)
class Latency:
    """Seconds from writing a line to finding its words, one figure per line."""

    sessions: int
    seconds: list[float]

    def __str__(self) -> str:
        middle, worst = median(self.seconds), max(self.seconds)
        return (
            f"{len(self.seconds)} appends among {self.sessions:,} sessions: median {middle:.2f} s, worst {worst:.2f} s"
        )


@dataclass(frozen=True)
class Idle:
    """What a watch takes of one core while nothing happens."""

    sessions: int
    seconds: float
    share: float
    resident: int
    rescan_seconds: float
    """Processor time of one look at everything, which is due every five minutes."""

    @property
    def share_with_rescans(self) -> float:
        return self.share + self.rescan_seconds / 300

    def __str__(self) -> str:
        return (
            f"idle among {self.sessions:,} sessions: {self.share:.2%} of a core over {self.seconds:.0f} s, "
            f"{self.share_with_rescans:.2%} with rescans ({self.rescan_seconds:.1f} s each); "
            f"{self.resident / 2**20:.0f} MiB resident"
        )


@dataclass(frozen=True)
class Memory:
    """Resident bytes after so many changes."""

    resident: list[tuple[int, int]]

    def __str__(self) -> str:
        return "resident: " + ", ".join(f"{size / 2**20:.0f} MiB after {count:,}" for count, size in self.resident)


class World:
    """A home full of small sessions, an archive, and a watch over both."""

    def __init__(self, root: Path, sessions: int) -> None:
        self.home = root / "user"
        self.store = root / "store"
        self.paths = [self._write(number) for number in range(sessions)]

    def _write(self, number: int) -> Path:
        session = str(uuid.uuid5(uuid.NAMESPACE_URL, f"bench:{number}"))
        path = self.home / ".claude" / "projects" / f"-proj-p{number % 200}" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(_line(session, turn, f"turn {turn} of session {number}") for turn in range(4)))
        return path

    def say(self, path: Path, turn: int, words: str) -> None:
        with path.open("ab") as file:
            file.write(_line(path.stem, turn, words))

    @contextlib.contextmanager
    def watched(self) -> Iterator[subprocess.Popen[str]]:
        """A watch that has caught up, with its events on a pipe."""
        env = {**os.environ, "HOME": str(self.home)}
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            env.pop(name, None)
        command = [*CLI, "--store", str(self.store), "watch", "--json"]
        watch = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        try:
            self.await_event(watch, "watching")
            yield watch
        finally:
            watch.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                watch.communicate(timeout=10)
            watch.kill()
            watch.wait()

    def await_event(self, watch: subprocess.Popen[str], kind: str, session: str = "") -> None:
        assert watch.stdout
        for told in watch.stdout:
            event = json.loads(told)
            if event["event"] == kind and event.get("session_id", "").startswith(session):
                return
        raise RuntimeError(f"the watch ended before it told of {kind!r}")


def _line(session: str, turn: int, words: str) -> bytes:
    role = "assistant" if turn % 2 else "user"
    message = {"role": role, "content": [{"type": "text", "text": words}] if turn % 2 else words}
    record = {
        "parentUuid": None,
        "isSidechain": False,
        "type": role,
        "message": message,
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{session}:{turn}")),
        "timestamp": f"2026-03-19T10:{turn // 60 % 60:02d}:{turn % 60:02d}.000Z",
        "sessionId": session,
        "cwd": "/proj/shop",
        "version": "2.1.205",
    }
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def latency(world: World, appends: int = 20, pause: float = 0.7) -> Latency:
    """Write a line with a word of its own, and search for it until it is found."""
    archive = Archive(world.store)
    seconds: list[float] = []
    with world.watched():
        for number in range(appends):
            word = f"zebra{number}q{os.getpid()}"
            began = time.perf_counter()
            world.say(world.paths[number % len(world.paths)], 1000 + number, word)
            while not archive.search(Query(word)):
                time.sleep(0.02)
            seconds.append(time.perf_counter() - began)
            time.sleep(pause)
    return Latency(len(world.paths), seconds)


def idle(world: World, seconds: float = 20) -> Idle:
    """Processor time of a watch that has caught up and hears nothing."""
    with world.watched() as watch:
        time.sleep(2)
        before, began = cpu_seconds(watch.pid), time.perf_counter()
        time.sleep(seconds)
        passed = time.perf_counter() - began
        share = (cpu_seconds(watch.pid) - before) / passed
        resident = resident_bytes(watch.pid)
    return Idle(len(world.paths), passed, share, resident, _look(world))


def _look(world: World) -> float:
    """What a look at everything takes, and finding that nothing is new."""
    archive = Archive(world.store, {"HOME": str(world.home)})
    began = time.process_time()
    archive.plan(archive.find())
    return time.process_time() - began


def memory(world: World, changes: int = 2000, burst: int = 20) -> Memory:
    """Resident memory while sessions change, a burst of them at a time."""
    sizes: list[tuple[int, int]] = []
    with world.watched() as watch:
        sizes.append((0, resident_bytes(watch.pid)))
        for count in range(0, changes, burst):
            for number in range(count, count + burst):
                world.say(world.paths[number % len(world.paths)], 2000 + number, f"change {number}")
            last = world.paths[(count + burst - 1) % len(world.paths)]
            world.await_event(watch, "inscribed", last.stem)
            if (count + burst) % (changes // 4) == 0:
                sizes.append((count + burst, resident_bytes(watch.pid)))
    return Memory(sizes)


def cpu_seconds(pid: int) -> float:
    """Processor time of all threads of a process, in nanoseconds: an idle one takes less than the clock ticks."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser("bench.watching", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything: to try the bench itself")
    quick = parser.parse_args().quick
    root = Path(tempfile.mkdtemp(prefix="muniment-watching-"))
    try:
        world = World(root, 1000 if quick else 10_000)
        with world.watched():
            pass  # everything is inscribed and ingested
        print(idle(world, 5 if quick else 20), flush=True)
        print(latency(world, 5 if quick else 20), flush=True)
        print(memory(world, 200 if quick else 2000), flush=True)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
