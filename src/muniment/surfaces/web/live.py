"""News of the archive, as server-sent events: one look a second for all who listen.

    event: state      data: {"state":"…"}            the archive changed
    event: session    data: {"session_id":"…"}       this session grew

Nobody looks while nobody listens. Who does not take what was sent loses the line and may ask anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from muniment.errors import MunimentError
from muniment.model import codec
from muniment.store.index import Index
from muniment.surfaces.web.passes import Pass
from muniment.surfaces.web.view import View

LOOK_SECONDS = 1.0
BEAT_SECONDS = 15.0
MAX_SESSIONS = 50
_MAX_WAITING = 200
_BEAT = b": still here\n\n"

Sizes = dict[str, int]


class Live:
    """Tells listeners what changes."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.listeners: set[asyncio.Queue[bytes | None]] = set()
        self.looking: asyncio.Task[None] | None = None
        self.beginning = asyncio.Lock()
        self.state = ""
        self.sizes: Sizes = {}
        self.closed = False

    def route(self) -> Route:
        async def live(request: Request) -> Response:
            if request.method == "HEAD":
                return Response(media_type="text/event-stream")
            return StreamingResponse(self._told(request.scope["pass"]), media_type="text/event-stream")

        return Route("/api/live", live, methods=["GET"])

    def close(self) -> None:
        """End every line: a server that shuts down waits for them."""
        self.closed = True
        for queue in self.listeners:
            _put(queue, None)
        if self.looking:
            self.looking.cancel()

    async def _told(self, own: Pass) -> AsyncIterator[bytes]:
        """What one listener is told, as long as it is signed in."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(_MAX_WAITING)
        self.listeners.add(queue)
        try:
            await self._begin()
            yield _event("state", state=self.state)
            while not self.closed:
                try:
                    said = await asyncio.wait_for(queue.get(), BEAT_SECONDS)
                except TimeoutError:
                    said = _BEAT
                if said is None or own.revoked:
                    return
                yield said
        finally:
            self.listeners.discard(queue)

    async def _begin(self) -> None:
        """Somebody looks from now on: what changes after the first event to a listener is told in a later one."""
        async with self.beginning:
            if self.looking is None or self.looking.done():
                self.state, self.sizes = self.view.state(), await self._sizes()
                self.looking = asyncio.create_task(self._look())

    async def _look(self) -> None:
        """Once a second, as long as anybody listens."""
        while self.listeners and not self.closed:
            await asyncio.sleep(LOOK_SECONDS)
            state = self.view.state()
            if state == self.state:
                continue
            former, self.state, self.sizes = self.sizes, state, await self._sizes()
            grown = [id_ for id_, size in self.sizes.items() if former.get(id_) != size]
            self._tell(_event("state", state=state))
            for session_id in grown[:MAX_SESSIONS]:
                self._tell(_event("session", session_id=session_id))

    async def _sizes(self) -> Sizes:
        try:
            return await self.view.work(self._read_sizes)
        except MunimentError:  # no archive at this moment
            return {}

    def _read_sizes(self) -> Sizes:
        self.view.require()
        with Index(self.view.layout) as index:
            return dict(index.rows("SELECT session_id, source_bytes + messages FROM sessions"))

    def _tell(self, said: bytes) -> None:
        for queue in list(self.listeners):
            if not _put(queue, said):
                self.listeners.discard(queue)
                queue.get_nowait()
                _put(queue, None)


def _put(queue: asyncio.Queue[bytes | None], said: bytes | None) -> bool:
    try:
        queue.put_nowait(said)
    except asyncio.QueueFull:
        return False
    return True


def _event(name: str, **data: str) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), codec.encode(data))
