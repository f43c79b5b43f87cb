"""Answers and readings that are kept: the ones used last, up to so many bytes, each made by one thread only."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Kept:
    """A cache with a budget. Who asks for what another is making waits for it."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.size = 0
        self.known: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self.making: dict[Hashable, threading.Lock] = {}
        self.guard = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T], weigh: Callable[[T], int]) -> T:
        """What is known under a key, made if need be; `weigh` gives its bytes."""
        with self.guard:
            if key in self.known:
                self.known.move_to_end(key)
                return self.known[key][0]
            turn = self.making.setdefault(key, threading.Lock())
        with turn:
            with self.guard:
                if key in self.known:
                    return self.known[key][0]
            try:
                made = make()
                self._keep(key, made, weigh(made))
                return made
            finally:
                with self.guard:
                    self.making.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        with self.guard:
            self.known.clear()
            self.size = 0

    def _keep(self, key: Hashable, made: Any, weight: int) -> None:
        if weight > self.budget // 2:
            return
        with self.guard:
            _, former = self.known.pop(key, (None, 0))  # evicted and made twice at once, it is still kept once
            self.known[key] = (made, weight)
            self.size += weight - former
            while self.size > self.budget:
                _, (_, freed) = self.known.popitem(last=False)
                self.size -= freed
