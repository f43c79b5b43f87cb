"""The viewer under load: a large archive, many clients, and agents that write all the while.

A `muniment view` with its watch serves so many sessions. A writer appends lines to some of them, clients look, search
and follow the news, and the memory of the server is noted once a second. At the end every message that was written has
to be in the archive, and no client may have seen an error.
"""

from __future__ import annotations

import http.client
import random
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from muniment.archive import Archive
from tests.builder import ClaudeSession
from tests.web.served import PATIENCE_SECONDS, PYTHON, Viewer, environment

WORDS = ("lamp", "harbour", "tide", "engine", "window", "invoice", "parser", "queue", "cursor", "button", "ledger")
GROWN = "-proj-grown"
"""The folder of the sessions that are written to."""
ROUND_LINES = 6
"""What `ClaudeSession.exchange` writes."""
TICKS = 20
"""How often in a second the writer writes."""


class Load(Struct, frozen=True):
    """How much of everything."""

    sessions: int = 10_000
    grown: int = 300
    clients: int = 50
    lines: int = 200
    """Written in a second."""
    seconds: int = 240


class Result(Struct):
    """What came of it."""

    rss: list[int]
    """Bytes of the server's memory, second by second."""
    answers: Counter[int]
    """How many answers of each status; 0 counts connections that broke."""
    events: int
    written: int
    """Messages in the files that were written to …"""
    archived: int
    """… and of those in the archive."""
    missing: dict[str, tuple[int, int]]
    """Sessions that differ, with both counts."""

    def mean(self, first: float, last: float) -> int:
        """The memory between two parts of the time."""
        some = self.rss[int(len(self.rss) * first) : int(len(self.rss) * last)] or [0]
        return sum(some) // len(some)


def name(number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"load:{number}"))


def prompt(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=12))


# -- what there is


def build(root: Path, load: Load) -> Archive:
    """An archive of so many small sessions, and the files they came from."""
    home, chance = root / "user" / ".claude", random.Random(1)
    for number in range(load.sessions):
        session = ClaudeSession(name(number), f"/proj/{number % 40}")
        session.exchange(prompt(chance), prompt(chance))
        session.write(home, GROWN if number < load.grown else f"-proj-{number % 40}")
    archive = Archive(root / "store", {"HOME": str(home.parent)})
    archive.inscribe()
    archive.ingest()
    return archive


def count_messages(archive: Archive, load: Load) -> dict[str, int]:
    """The messages of each session that is written to."""
    known = {session.session_id: session.messages for session in archive.sessions()}
    return {name(number): known.get(name(number), 0) for number in range(load.grown)}


class Writer(threading.Thread):
    """Agents that work: so many lines a second, over many files, each written as it comes."""

    def __init__(self, home: Path, load: Load) -> None:
        super().__init__(daemon=True)
        self.load = load
        self.folder = home / "projects" / GROWN
        self.waiting: list[tuple[Path, bytes]] = []
        self.sessions = [ClaudeSession(name(number), f"/proj/{number % 40}") for number in range(load.grown)]

    def run(self) -> None:
        chance, began = random.Random(2), time.monotonic()
        for session in self.sessions:
            session.lines = [b""] * ROUND_LINES  # their first round is there already
        for tick in range(self.load.seconds * TICKS):
            while len(self.waiting) < self.load.lines // TICKS:
                self._work(chance)
            for path, line in self.waiting[: self.load.lines // TICKS]:
                with path.open("ab") as file:
                    file.write(line)
            del self.waiting[: self.load.lines // TICKS]
            time.sleep(max(0.0, began + (tick + 1) / TICKS - time.monotonic()))

    def _work(self, chance: random.Random) -> None:
        """One more round of some sessions, their lines mixed."""
        some = chance.sample(self.sessions, min(20, len(self.sessions)))
        for session in some:
            session.exchange(prompt(chance), prompt(chance))
        for at in range(-ROUND_LINES, 0):
            self.waiting += [(self.folder / f"{session.id}.jsonl", session.lines[at]) for session in some]
        for session in some:
            session.lines = [b""] * len(session.lines)  # ids are numbered by them


# -- who looks


class Clients:
    """Many who look at once; every fifth follows the news."""

    def __init__(self, viewer: Viewer, load: Load) -> None:
        self.viewer, self.load = viewer, load
        self.answers: Counter[int] = Counter()
        self.events = 0
        self.ended = threading.Event()
        kinds = [self._listen if number % 5 == 0 else self._look for number in range(load.clients)]
        self.threads = [threading.Thread(target=kind, args=(n,), daemon=True) for n, kind in enumerate(kinds)]

    @contextmanager
    def running(self) -> Iterator[None]:
        for thread in self.threads:
            thread.start()
        try:
            yield
        finally:
            self.ended.set()
            for thread in self.threads:
                thread.join(PATIENCE_SECONDS)

    def _paths(self, chance: random.Random) -> Iterator[str]:
        while True:
            id_ = name(chance.randrange(self.load.sessions))
            grown = name(chance.randrange(self.load.grown))
            yield "/api/overview"
            yield f"/api/search?q={chance.choice(WORDS)}+{chance.choice(WORDS)}&typing=1"
            yield f"/api/session/{grown}"
            yield f"/api/session/{grown}/items?first=0&count=50"
            yield chance.choice(["/api/sessions", "/api/engagements", f"/doc/{id_}.md"])
            yield f"/api/session/{id_}"
            yield chance.choice([f"/api/session/{id_}/lineage", f"/api/session/{grown}/budget", "/api/stats"])

    def _look(self, number: int) -> None:
        chance = random.Random(number)
        for path in self._paths(chance):
            if self.ended.wait(chance.random() * 2):
                return
            self._note(lambda path=path: self.viewer.ask(path, Accept_Encoding="gzip")[0])

    def _listen(self, _: int) -> None:
        while not self.ended.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.viewer.port, timeout=20)
            try:
                headers = {"Authorization": f"Bearer {self.viewer.token}"}
                connection.request("GET", "/api/live", headers=headers)
                answer = connection.getresponse()
                self.answers[answer.status] += 1
                while not self.ended.is_set() and (line := answer.readline()):
                    self.events += line.startswith(b"event: ")
            except (OSError, http.client.HTTPException):
                self.answers[0] += not self.ended.is_set()
            finally:
                connection.close()

    def _note(self, ask: Callable[[], int]) -> None:
        try:
            status = ask()
        except (OSError, http.client.HTTPException):
            status = 0
        if not self.ended.is_set() or status:
            self.answers[status] += 1


def read_rss(pid: int) -> int:
    """The memory of a process now; 0 where the system does not tell."""
    try:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except FileNotFoundError:
        return 0
    return int(found[1]) * 1024 if found else 0


# -- the run


def run(root: Path, load: Load, say: Callable[[str], None] = lambda _: None) -> Result:
    """Build, serve, write and look; then compare."""
    say(f"building an archive of {load.sessions:,} sessions")
    archive = build(root, load)
    command = [*PYTHON, "--store", str(archive.layout.root), "view", "--no-open", "--port", "0"]
    with (root / "viewer.err").open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment(archive))
        try:
            viewer = Viewer(process).enter()
            _wait_for_watch(archive, process)
            rss, clients = _drive(root, viewer, load, say)
            wanted = _count_anew(root, load)
            _settle(archive, load, wanted)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE_SECONDS)
    say((root / "viewer.err").read_text())
    there = count_messages(archive, load)
    missing = {id_: (count, there[id_]) for id_, count in wanted.items() if there[id_] != count}
    return Result(rss, clients.answers, clients.events, sum(wanted.values()), sum(there.values()), missing)


def _wait_for_watch(archive: Archive, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not archive.layout.watching.exists() and time.monotonic() < until:
        assert process.poll() is None
        time.sleep(0.1)


def _drive(root: Path, viewer: Viewer, load: Load, say: Callable[[str], None]) -> tuple[list[int], Clients]:
    rss, clients = [read_rss(viewer.process.pid)], Clients(viewer, load)
    writer = Writer(root / "user" / ".claude", load)
    with clients.running():
        writer.start()
        while writer.is_alive():
            writer.join(1.0)
            rss.append(read_rss(viewer.process.pid))
            if len(rss) % 10 == 0:
                said = f"{clients.answers.total():,} answers  {clients.events:,} events"
                say(f"{len(rss):4} s  {rss[-1] >> 20} MB  {said}")
    return rss, clients


def _count_anew(root: Path, load: Load) -> dict[str, int]:
    """The messages as an archive has them that is made now, from the same files: nobody was in its way."""
    fresh = Archive(root / "fresh", {"HOME": str(root / "nobody")})
    fresh.inscribe([root / "user" / ".claude" / "projects" / GROWN])
    return count_messages(fresh, load)


def _settle(archive: Archive, load: Load, wanted: dict[str, int]) -> None:
    """Give the watch a minute for the last lines; its next look at everything is minutes away."""
    until = time.monotonic() + PATIENCE_SECONDS
    while count_messages(archive, load) != wanted and time.monotonic() < until:
        time.sleep(0.5)


if __name__ == "__main__":
    sys.exit("run `make load`")
