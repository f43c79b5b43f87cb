"""What the routes share: the store for reading only, its state, and what is kept of earlier answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from muniment.errors import StoreError
from muniment.store import index
from muniment.store.layout import Layout
from muniment.store.pulse import Pulse
from muniment.surfaces.web import answers
from muniment.surfaces.web.answers import Packed
from muniment.surfaces.web.memory import Memory
from muniment.viewing.families import Families
from muniment.viewing.kept import Kept
from muniment.viewing.transcript import Transcripts

WORKERS = 4
ANSWER_BYTES = 24 << 20
_ENTRY_BYTES = 2_000
"""What it costs to keep an answer, however short."""

Make = Callable[["View", str, Request], Any]


class View:
    """One store as the viewer sees it. It cannot write: the layout says so to everything below."""

    def __init__(self, root: Path, env: Mapping[str, str]) -> None:
        self.env = env
        self.layout = Layout(root, read_only=True)
        self.pulse = Pulse(self.layout)
        self.answers = Kept(ANSWER_BYTES)
        self.answered = ""
        """The state that the kept answers belong to."""
        self.memory = Memory()
        self.transcripts = Transcripts()
        self.families = Families()
        self.workers = anyio.CapacityLimiter(WORKERS)

    def state(self) -> str:
        return self.pulse.state()

    def require(self) -> None:
        """Whatever is missing is said, with what to do."""
        if not index.exists(self.layout):
            index.require(self.layout)
            raise StoreError(f"no archive at {self.layout.root}", "`muniment up` or `muniment inscribe` makes one")

    async def work(self, task: Callable[[], Any]) -> Any:
        """Do something that takes time, aside, and not too many at once."""
        return await run_sync(task, limiter=self.workers)

    async def answer(self, request: Request, make: Make) -> Response:
        """A JSON answer: known, unchanged, or made now."""
        state = self.state()
        if same := answers.unchanged(request, state):
            return same
        self._forget_answers(state)
        key = (make, request.url.path, request.url.query, state)
        own = _ENTRY_BYTES + 2 * len(request.url.query)
        packed: Packed = await self.work(
            lambda: self.answers.get(key, lambda: self._made(make, state, request), lambda made: len(made) + own)
        )
        return answers.json(request, packed, state)

    def _forget_answers(self, state: str) -> None:
        """Drop the answers of an earlier state, for which nobody will ask again."""
        if state != self.answered:
            self.answered = state
            self.answers.clear()
            self.memory.give_back()

    def _made(self, make: Make, state: str, request: Request) -> Packed:
        self.require()
        return Packed(make(self, state, request))
