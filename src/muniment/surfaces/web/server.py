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
from muniment.surfaces.web import app, entry, keys
from muniment.surfaces.web.live import Live
from muniment.surfaces.web.passes import Passes
from muniment.surfaces.web.view import View

ADDRESS, ADDRESS_6 = "127.0.0.1", "::1"
PORT = 18820
REQUEST_SECONDS = 10.0
"""How long a client may take to say what it wants."""
MAX_CONNECTIONS = 600
GRACE_SECONDS = 3
"""How long clients may take for the answers that are under way when the server ends."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Taken(MunimentError):
    """Another program listens at the port."""


def listen(port: int) -> list[socket.socket]:
    """The port, for this machine alone. Never another one than was asked for: a person would not notice.

    It is taken at both addresses that browsers go to for `localhost`: at a free one another user could listen.
    """
    first = _take(ADDRESS, socket.AF_INET, port)
    try:
        return [first, _take(ADDRESS_6, socket.AF_INET6, first.getsockname()[1])]
    except Taken:
        first.close()
        if port:
            raise
        return listen(port)
    except OSError:  # this machine has no IPv6
        return [first]


def _take(address: str, family: socket.AddressFamily, port: int) -> socket.socket:
    # The protocol is named because asyncio sends small answers at once only where it is.
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((address, port))
        taken.listen(512)
    except OSError as error:
        taken.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            hint = "`--port N` takes another; `--port 0` any that is free"
            raise Taken(f"port {port} is taken by another program", hint) from None
        raise
    return taken


def serve(root: Path, env: Mapping[str, str], listening: list[socket.socket], ready: Callable[[str], None]) -> None:
    """Serve a store until a signal says to end; `ready` gets a code when it can be used."""
    port: int = listening[0].getsockname()[1]
    view = View(root, env)
    view.memory.share_heap()
    live = Live(view)
    with keys.publish(env, port, root) as own:
        passes = Passes(keys.home(env), port)
        built = app.build(view, own, passes, live, port)
        server = _Server(_config(built), live, lambda: ready(entry.invite(passes)))
        try:
            asyncio.run(server.serve(listening))
        finally:
            passes.close()
            view.pulse.close()
            for taken in listening:
                taken.close()


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
