"""Going through all sessions of the archive in the background, a moment at a time."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator


class Sweep(ABC):
    """Work that is done step by step whenever there is time for it."""

    def __init__(self) -> None:
        self.steps: Iterator[None] | None = None

    def advance(self, seconds: float) -> bool:
        """Work for so long, or until the step in hand is done; tells whether there is more to do."""
        end = time.monotonic() + seconds
        steps, self.steps = self.steps or self.begin(), None
        for _ in steps:
            if time.monotonic() >= end:
                self.steps = steps
                return True
        return False

    @abstractmethod
    def begin(self) -> Iterator[None]:
        """Find out what there is to do, and do it with a pause after each step."""
