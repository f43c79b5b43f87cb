"""Appends of many writers, turn about: who stores how many messages a second."""

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import IO, cast

from .compare import told

ROUNDS = 9
"""Odd, so that the median is one of them."""


class Failed(Exception):
    """A writer did not do what it was asked."""


@dataclass(frozen=True)
class Task:
    """One kind of append: how many of them by how many threads, and whether each must survive a power cut."""

    title: str
    count: int
    writers: int
    durable: bool
    names: Sequence[str]
    """Who takes part, those of them that are there."""


MUNIMENT, ENGINE, BARE = "muniment", "muniment log", "bare"
AWAITED = "muniment, awaited"
SQLITE_SESSION = "openai-agents"
SQLITE_SAVER = "langgraph-checkpoint-sqlite"
SQLITE_SAVER_HALF = "langgraph-checkpoint-sqlite, write only"
YOUNG, LONG = "muniment, 1,000 events in", "muniment, 200,000 events in"

ALONE = Task("Durable appends, one writer", 300, 1, True, (MUNIMENT, ENGINE, BARE, SQLITE_SESSION))
TOGETHER = Task("Durable appends, eight writers", 1600, 8, True, (MUNIMENT, AWAITED, ENGINE, SQLITE_SESSION))
ACCEPTED = Task(
    "Accepted appends, one writer",
    4000,
    1,
    False,
    (MUNIMENT, ENGINE, BARE, SQLITE_SESSION, SQLITE_SAVER, SQLITE_SAVER_HALF),
)
GROWTH = Task("Accepted appends as a session grows", 2000, 1, False, (YOUNG, LONG))


@dataclass
class Rates:
    """Appends a second of everybody at one task, round by round."""

    task: Task
    rounds: dict[str, list[float]] = field(default_factory=dict)

    def ratio(self, ours: str, theirs: str) -> float | None:
        """How many times as fast: of each round, then the median, so that a busy moment hits both sides of it."""
        if ours not in self.rounds or theirs not in self.rounds:
            return None
        pairs = zip(self.rounds[ours], self.rounds[theirs], strict=True)
        return median(mine / other for mine, other in pairs)


class Worker:
    """A process with one writer, waiting for tasks."""

    def __init__(self, name: str, python: Path, folder: Path) -> None:
        self.name = name
        fresh = folder / name.replace(" ", "-")
        fresh.mkdir(parents=True)
        environment = {"HOME": str(fresh), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        command = [str(python), "-P", str(Path(__file__).with_name("writers.py")), name, str(fresh)]
        log = folder.parent / "logs" / f"writer-{fresh.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
        self._input = cast("IO[bytes]", self._process.stdin)
        self._output = cast("IO[bytes]", self._process.stdout)

    def rate(self, task: Task) -> float:
        """Appends a second in one run."""
        asked = {"count": task.count, "writers": task.writers, "durable": task.durable}
        answer = self._ask(json.dumps(asked).encode() + b"\n")
        if answer["stored"] != task.count:
            raise Failed(f"{self.name} stored {answer['stored']} of {task.count} messages")
        return task.count / answer["seconds"]

    def _ask(self, line: bytes) -> Mapping[str, float]:
        try:
            self._input.write(line)
            self._input.flush()
            return json.loads(self._output.readline())
        except (BrokenPipeError, ValueError) as end:
            raise Failed(f"{self.name} came to an early end, see the logs of the bench") from end

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._input.close()
        self._output.close()


@contextlib.contextmanager
def workers(pythons: Mapping[str, Path], folder: Path) -> Iterator[list[Worker]]:
    """A worker for each writer by name; when they end, what they wrote goes."""
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        made: list[Worker] = []
        for name, python in pythons.items():
            made.append(Worker(name, python, folder))
            stack.callback(made[-1].end)
        yield made


def compare(task: Task, everybody: Sequence[Worker], failures: list[str]) -> Rates:
    """All who take part, turn about; the first round warms up. Who fails is named and left out of the rest."""
    taking_part = [worker for name in task.names for worker in everybody if worker.name == name]
    rates = Rates(task, {worker.name: [] for worker in taking_part})
    for number in range(ROUNDS + 1):
        # Every other round the other way round, so that nobody always runs after the same one.
        for worker in taking_part[:: -1 if number % 2 else 1]:
            os.sync()  # nobody pays for what another has left to be written
            try:
                rate = worker.rate(task)
            except Failed as failure:
                failures.append(str(failure))
                taking_part.remove(worker)
                del rates.rounds[worker.name]
                continue
            if number:
                rates.rounds[worker.name].append(rate)
    for name, measured in rates.rounds.items():
        told(f"  {name}, {task.title.lower()}: {median(measured):,.0f} a second")
    return rates
