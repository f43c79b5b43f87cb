"""Waiting for the disk in an event loop, which goes on meanwhile. Tasks that wait together share one flush."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor


class Settling:
    """The tasks of one event loop that wait until what they recorded is durable."""

    def __init__(self, flush: Callable[[], None]) -> None:
        self.loop = asyncio.get_running_loop()
        self._flush = flush
        self._thread = ThreadPoolExecutor(1, "muniment-settling")
        self._waiting: list[asyncio.Future[None]] = []
        self._flushing = False

    def is_here(self) -> bool:
        """Whether its loop is the one that runs."""
        return asyncio.get_running_loop() is self.loop

    async def wait(self) -> None:
        """Return once everything recorded before is durable; raises what went wrong."""
        told = self.loop.create_future()
        self._waiting.append(told)
        if not self._flushing:
            self._begin_soon()
        await told

    def _begin_soon(self) -> None:
        """When all tasks that are ready now have had their turn: they may want to wait, too."""
        self._flushing = True
        self.loop.call_soon(self._begin)

    def _begin(self) -> None:
        batch, self._waiting = self._waiting, []
        self._thread.submit(self._flush_for, batch)

    def _flush_for(self, batch: Sequence[asyncio.Future[None]]) -> None:
        """In the thread. A loop that was closed meanwhile has nobody left to be told."""
        error: Exception | None = None
        try:
            self._flush()
        except Exception as raised:  # each of them is told, in its own task
            error = raised
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._tell, batch, error)

    def _tell(self, batch: Sequence[asyncio.Future[None]], error: Exception | None) -> None:
        for told in batch:
            if told.done():  # its task was cancelled
                continue
            if error is None:
                told.set_result(None)
            else:
                told.set_exception(error)
        self._flushing = False
        if self._waiting:
            self._begin_soon()
