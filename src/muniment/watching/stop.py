"""Ending when asked to: at once when idle, and within a second in the middle of something.

A first signal lets the step at hand finish. A step that takes longer is interrupted; whatever of it is whole is
committed, and the next watch does the rest.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

GRACE_SECONDS = 0.7
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Stop:
    """Whether somebody asked to end."""

    def __init__(self) -> None:
        self.asked = False
        self.owner = os.getpid()

    def is_set(self) -> bool:
        return self.asked

    def set(self) -> None:
        self.asked = True

    @contextmanager
    def listening(self) -> Generator[None]:
        """Signals ask to end as long as this lasts; for the main thread only."""
        before = {number: signal.signal(number, self._ask) for number in SIGNALS}
        before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._insist)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, _: FrameType | None) -> None:
        if os.getpid() != self.owner:  # a worker process, forked with this handler
            os._exit(128 + number)
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS)

    def _insist(self, _number: int, _: FrameType | None) -> None:
        raise KeyboardInterrupt
