"""One watch per store. A second one waits and takes over when the first ends, so that one of them always watches."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator

from muniment import files
from muniment.store.layout import Layout
from muniment.watching.stop import Stop

WAIT_SECONDS = 0.5


@contextlib.contextmanager
def alone(layout: Layout, stop: Stop, waiting: Callable[[str], None]) -> Generator[bool]:
    """Be the only watch of a store; gives False if asked to end before that came about."""
    files.make_folder(layout.sessions)
    descriptor = os.open(layout.watching, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, files.FILE_MODE)
    try:
        yield _take(descriptor, stop, waiting)
    finally:
        os.close(descriptor)


def _take(descriptor: int, stop: Stop, waiting: Callable[[str], None]) -> bool:
    told = False
    while not files.locked(descriptor):
        if not told:
            waiting(os.pread(descriptor, 20, 0).decode("ascii", "replace").strip())
            told = True
        if stop.is_set():
            return False
        time.sleep(WAIT_SECONDS)
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return True
