"""A scripted stand-in for the models of all providers, on loopback only.

A script is a list of `Turn`s; each request for an answer takes the next one, and "ok" is the answer when none is left.
Every request for an answer is kept: it shows which history the client rebuilt from its files, and that is how
"it resumes" is measured.
"""

import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .wires import Json, Wire, text_block, wire_of

SMALL_MODEL = "small-stand-in"
"""Clients that ask a second model for titles and the like are told to ask this one: it uses up no turn."""


@dataclass(frozen=True)
class Turn:
    """One answer of the model: content blocks, and what goes wrong while they are streamed."""

    blocks: tuple[Json, ...]
    delay_s: float = 0
    """Pause before each stream event."""
    cut_after: int | None = None
    """The connection is dropped after so many stream events."""
    hold_after: int | None = None
    """The stream stands still after so many events, until the server is closed or another script is set."""
    tokens: int = 10
    """How many tokens the question is said to have had; many of them make clients compact."""


def says(text: str, **more: Any) -> Turn:
    """An answer of one text block."""
    return Turn((text_block(text),), **more)


class ModelServer(ThreadingHTTPServer):
    """Plays one script at a time and keeps the bodies of the requests, in order of arrival."""

    daemon_threads = True
    block_on_close = False  # a held stream would never end

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ModelHandler)
        self.requests: list[Json] = []
        self._turns: list[Turn] = []
        self._lock = threading.Lock()
        self._holding = threading.Event()
        self._released = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def play(self, *turns: Turn) -> None:
        """Set the answers to come and let go of a held stream."""
        with self._lock:
            self._released.set()
            self._released = threading.Event()
            self._holding.clear()
            self._turns = list(turns)

    def is_holding(self) -> bool:
        """Whether a stream stands still, which is the moment to kill a client."""
        return self._holding.is_set()

    def close(self) -> None:
        self.play()
        self.shutdown()
        self.server_close()

    def take_turn(self, request: Json) -> Turn:
        """Keep the request and return the answer to it."""
        if request.get("model") == SMALL_MODEL:
            return says("A title")
        with self._lock:
            self.requests.append(request)
            return self._turns.pop(0) if self._turns else says("ok")

    def hold(self) -> None:
        """Stand still until the next script."""
        released = self._released
        self._holding.set()
        released.wait()


class ModelHandler(BaseHTTPRequestHandler):
    """POST to any of the APIs, streamed or whole; what else a client asks gets an empty answer."""

    protocol_version = "HTTP/1.1"
    server: ModelServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: object) -> None:
        """The journal is `ModelServer.requests`."""

    def do_GET(self) -> None:
        self._send_json({})

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self._body()
        wire = wire_of(self.path)
        if "count_tokens" in self.path:  # a side question, which must not use up a turn
            self._send_json({"input_tokens": len(body) // 4 + 1})
        elif wire:
            self._answer(wire, json.loads(body))
        else:
            self._send_json({})

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, wire: Wire, request: Json) -> None:
        turn = self.server.take_turn(request)
        answer = wire.answer(request.get("model", "stand-in"), turn.blocks, turn.tokens)
        if request.get("stream") or "stream" in self.path:
            self._stream(turn, wire, answer)
        else:
            self._send_json(answer)

    def _send_json(self, value: Json) -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _stream(self, turn: Turn, wire: Wire, answer: Json) -> None:
        self.close_connection = True  # the end of the connection is the end of the stream: there is no length
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for count, event in enumerate(wire.events(answer)):
            if count == turn.cut_after:
                return
            if count == turn.hold_after:
                self.server.hold()
            time.sleep(turn.delay_s)
            named = f"event: {event['type']}\n" if "type" in event else ""
            try:
                self.wfile.write(f"{named}data: {json.dumps(event)}\n\n".encode())
            except OSError:  # the client was killed, on purpose
                return
