"""The running server: one port of this machine, until it is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from muniment.errors import MunimentError
from muniment.surfaces.web import app, keys
from muniment.surfaces.web.keys import Keys
from muniment.surfaces.web.live import Live
from muniment.surfaces.web.view import View

ADDRESS = "127.0.0.1"
PORT = 18820
REQUEST_SECONDS = 10.0
"""How long a client may take to say what it wants."""
MAX_CONNECTIONS = 600
GRACE_SECONDS = 3
"""How long clients may take for the answers that are under way when the server ends."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Taken(MunimentError):
    """Another program listens at the port."""


def listen(port: int) -> socket.socket:
    """The port, for this machine alone. Never another one than was asked for: a person would not notice."""
    # The protocol is named because asyncio sends small answers at once only where it is.
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((ADDRESS, port))
        taken.listen(512)
    except OSError as error:
        taken.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            hint = "`--port N` takes another; `--port 0` any that is free"
            raise Taken(f"port {port} is taken by another program", hint) from None
        raise
    return taken


def serve(root: Path, env: Mapping[str, str], listening: socket.socket, ready: Callable[[Keys], None]) -> None:
    """Serve a store until a signal says to end; `ready` is told when links work."""
    port: int = listening.getsockname()[1]
    own = Keys(keys.load(env), port, root)
    view = View(root, env)
    live = Live(view)
    server = _Server(_config(app.build(view, own, live, port)), live, lambda: ready(own))
    try:
        asyncio.run(server.serve([listening]))
    finally:
        view.pulse.close()
        listening.close()


def _config(built: Any) -> uvicorn.Config:
    return uvicorn.Config(
        built,
        http=_Patience,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=30,
    )


class _Server(uvicorn.Server):
    """Ends the lines of listeners when it is told to end, and ends well: a signal is the usual way."""

    def __init__(self, config: uvicorn.Config, live: Live, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.live = live
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.live.close()
        patience = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._hang_up)
        await super().shutdown(sockets)
        patience.cancel()

    def _hang_up(self) -> None:
        """Wait for no client any longer. Work that began goes to its end: a thread cannot be stopped half way."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()


class _Patience(H11Protocol):
    """HTTP with an end to patience: who has not said within ten seconds what it wants is cut off."""

    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """The clock runs from the first wait until the request is whole, whatever trickles in meanwhile."""
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._unwatch()
        elif self._due is None:
            self._due = self.loop.call_later(REQUEST_SECONDS, self._cut_off)

    def _unwatch(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _cut_off(self) -> None:
        self._due = None
        if not self.transport.is_closing():
            self.transport.close()
