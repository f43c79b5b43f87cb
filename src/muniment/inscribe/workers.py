"""The processes that inscribe sessions, one at a time each, and what they say meanwhile.

A small plan needs none: starting them would cost more. The pipes block when the reader of what they say falls behind,
which bounds memory.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import os
import signal
import sys
import traceback
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from muniment import inscribe as one
from muniment.config import SMALL_BYTES, WORKERS, cores
from muniment.errors import Damaged, MunimentError
from muniment.inscribe import Begin, Done, Outcome, Rows, Task
from muniment.model import Problem
from muniment.store.layout import Layout

if TYPE_CHECKING:  # a small plan needs none of it, and it is slow to import
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

PIPE_BYTES = 1 << 20
"""What a worker may say ahead of whoever listens, in words of sessions too."""
AT_HAND = 2
"""Tasks that a worker has: one in hand, and the next."""


class Worker:
    """A process that inscribes the tasks whose numbers it is sent; it has them all from the start."""

    def __init__(
        self, number: int, tasks: Sequence[Task], numbers: Connection, answers: Connection, process: BaseProcess
    ) -> None:
        self.number = number
        self.tasks = tasks
        self.numbers = numbers
        self.answers = answers
        self.process = process
        self.given: list[int] = []
        """What it was sent and has not answered for, the one that it works on first."""
        self.died = False

    def go_on(self, waiting: list[int]) -> bool:
        """Let it always have a task at hand, so that it never waits for this process; tells whether it has one."""
        while waiting and len(self.given) < AT_HAND and not self.died:
            self.given.append(waiting.pop())
            with contextlib.suppress(BrokenPipeError):  # then it died, which is told where its answers end
                self.numbers.send(self.given[-1])  # a few bytes: there is room for them whatever it does
        return bool(self.given)

    def receive(self, waiting: list[int]) -> list[Any]:
        """What it says next. Of one that died the task it worked on has failed; what else it had is for others."""
        try:
            said: list[Any] = self.answers.recv()
        except (EOFError, OSError):  # it died: between two answers, or in the middle of one
            failed, *others = self.given
            self.given, self.died = [], True
            waiting += reversed(others)
            return [_failed(self.tasks[failed], "the worker process died; run again")]
        if isinstance(said[-1], Outcome):
            self.given.pop(0)
        return said

    def close(self) -> None:
        self.numbers.close()
        self.answers.close()


@contextlib.contextmanager
def workers(layout: Layout, tasks: Sequence[Task]) -> Generator[list[Worker]]:
    """The worker processes; none for a small plan. They start before the index is opened: SQLite must not fork."""
    pool: list[Worker] = []
    try:
        for _ in range(worthwhile([_size(task) for task in tasks], cores())):
            pool.append(_start_worker(layout, tasks, pool))
        yield pool
    finally:
        for worker in pool:
            worker.close()
            worker.process.terminate()
        for worker in pool:
            worker.process.join()


def worthwhile(sizes: Sequence[int], usable: int) -> int:
    """How many workers: on a single core they only cost, but for a session whose rows should not wait in memory."""
    if usable == 1:
        return int(max(sizes, default=0) >= SMALL_BYTES)
    return min(WORKERS, usable, len(sizes)) if sum(sizes) >= SMALL_BYTES else 0


def _size(task: Task) -> int:
    return sum(file.size for file in task.found.files)


def _start_worker(layout: Layout, tasks: Sequence[Task], pool: list[Worker]) -> Worker:
    import multiprocessing

    forks = sys.platform == "linux"
    context = multiprocessing.get_context("fork") if forks else multiprocessing.get_context("spawn")
    its_numbers, numbers = context.Pipe(duplex=False)
    answers, its_answers = context.Pipe(duplex=False)
    if forks:
        with contextlib.suppress(OSError):  # the system has room for so many large pipes of one user
            fcntl.fcntl(its_answers.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    others = [end for worker in pool for end in (worker.numbers, worker.answers)]
    inherited = [numbers, answers, *others] if forks else []
    process = context.Process(target=_serve, args=(layout, tasks, its_numbers, its_answers, inherited), daemon=True)
    process.start()
    its_numbers.close()
    its_answers.close()
    return Worker(len(pool), tasks, numbers, answers, process)


def conversation(layout: Layout, pool: list[Worker], tasks: Sequence[Task]) -> Iterator[tuple[int, Any]]:
    """Everything the workers say, large sessions first so that none is left alone at the end."""
    waiting = sorted(range(len(tasks)), key=lambda number: _size(tasks[number]))
    if pool:
        yield from _heard(pool, waiting)
    for number in reversed(waiting):
        yield from _alone(layout, tasks[number])


def _heard(pool: list[Worker], waiting: list[int]) -> Iterator[tuple[int, Any]]:
    """What the workers say, whoever speaks first, until none has a task."""
    import selectors

    with selectors.DefaultSelector() as busy:
        for worker in pool:
            if worker.go_on(waiting):
                busy.register(worker.answers, selectors.EVENT_READ, worker)
        while busy.get_map():
            for key, _ in busy.select():
                worker: Worker = key.data
                said = worker.receive(waiting)
                yield from ((worker.number, message) for message in said)
                if isinstance(said[-1], Outcome) and not worker.go_on(waiting):
                    busy.unregister(worker.answers)


def _alone(layout: Layout, task: Task) -> Iterator[tuple[int, Any]]:
    """The same conversation without a second process; the rows of the session wait in memory."""
    said: list[Any] = []
    outcome = _inscribe(layout, task, said.append)
    for message in [*said, outcome] if outcome.what != "failed" else [outcome]:
        yield 0, message


def _serve(
    layout: Layout, tasks: Sequence[Task], numbers: Connection, answers: Connection, inherited: list[Connection]
) -> None:
    """A worker: inscribe the tasks whose numbers are sent until the other side hangs up.

    A forked process has copies of the other side's ends; while they are open nobody seems to hang up."""
    for other in inherited:
        other.close()
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0o077)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            number: int = numbers.recv()
            said = _Said(answers)
            said.send(_inscribe(layout, tasks[number], said.add))


class _Said:
    """What a worker has to say of a session: all at once, unless it is much."""

    def __init__(self, answers: Connection) -> None:
        self.answers = answers
        self.waiting: list[Any] = []
        self.text_bytes = 0

    def add(self, message: Begin | Rows | Done) -> None:
        if isinstance(message, Rows) and self.text_bytes + message.text_bytes >= PIPE_BYTES:
            self.send(message)
            return
        self.waiting.append(message)
        self.text_bytes += message.text_bytes if isinstance(message, Rows) else 0

    def send(self, message: Rows | Outcome) -> None:
        self.answers.send([*self.waiting, message])
        self.waiting, self.text_bytes = [], 0


def _inscribe(layout: Layout, task: Task, sink: one.Sink) -> Outcome:
    """One session; what goes wrong with it is its outcome, and the others go on."""
    try:
        return one.inscribe(layout, task, sink)
    except BrokenPipeError:  # whom this is told is gone
        raise
    except Damaged as error:
        problem = Problem(error.path, error.offset, error.message)
        told = _failed(task, f"{error.message}; {error.hint}")
        return structs.replace(told, problems=() if task.tried else (problem,))
    except MunimentError as error:
        return _failed(task, "; ".join(filter(None, (error.message, error.hint))))
    except IsADirectoryError as error:  # somebody put it where a file of the session belongs, and mending moves it
        problem = Problem(str(error.filename), 0, "a folder lies where a file should be")
        return structs.replace(_failed(task, f"{problem}"), problems=() if task.tried else (problem,))
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # reading fills no disk: the store's it is
        place = error.filename or (layout.root if full else one.key_path(task.found))
        return _failed(task, f"{error.strerror or error}: {place}")
    except Exception:
        return _failed(task, "a bug in muniment:\n" + traceback.format_exc())


def _failed(task: Task, note: str) -> Outcome:
    return Outcome(task.found.session_id, one.key_path(task.found), "failed", note=note)
