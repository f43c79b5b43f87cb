"""A scripted stand-in for the Anthropic Messages API, on loopback only.

A script is a list of `Turn`s; each request for an answer takes the next one, and "ok" is the answer when none is left.
Every request for an answer is kept: it shows which history the client rebuilt from its files, and that is how
"it resumes" is measured.
"""

import json
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]

PIECE_CHARS = 200
USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 5}


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


def says(text: str, **faults: Any) -> Turn:
    """An answer of one text block."""
    return Turn((text_block(text),), **faults)


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def thinking_block(thought: str) -> Json:
    return {"type": "thinking", "thinking": thought, "signature": f"sig{uuid.uuid4().hex}"}


def call_block(tool: str, **arguments: Any) -> Json:
    return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", "name": tool, "input": arguments}


class ModelServer(ThreadingHTTPServer):
    """Plays one script at a time and keeps the bodies of the requests, in order of arrival."""

    daemon_threads = True
    block_on_close = False  # a held stream would never end

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), MessagesHandler)
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
        with self._lock:
            self.requests.append(request)
            return self._turns.pop(0) if self._turns else says("ok")

    def hold(self) -> None:
        """Stand still until the next script."""
        released = self._released
        self._holding.set()
        released.wait()


class MessagesHandler(BaseHTTPRequestHandler):
    """POST /v1/messages, streamed or whole, and /v1/messages/count_tokens."""

    protocol_version = "HTTP/1.1"
    server: ModelServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: object) -> None:
        """The journal is `ModelServer.requests`."""

    def do_GET(self) -> None:
        self._send_json({})

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "count_tokens" in self.path:  # a side question, which must not use up a turn
            self._send_json({"input_tokens": len(body) // 4 + 1})
        elif self.path.startswith("/v1/messages"):
            self._answer(json.loads(body))
        else:
            self._send_json({})

    def _answer(self, request: Json) -> None:
        turn = self.server.take_turn(request)
        message = answer_message(request["model"], turn)
        if request.get("stream"):
            self._stream(turn, message)
        else:
            self._send_json(message)

    def _send_json(self, value: Json) -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _stream(self, turn: Turn, message: Json) -> None:
        self.close_connection = True  # the end of the connection is the end of the stream: there is no length
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for count, event in enumerate(stream_events(message)):
            if count == turn.cut_after:
                return
            if count == turn.hold_after:
                self.server.hold()
            time.sleep(turn.delay_s)
            try:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            except OSError:  # the client was killed, on purpose
                return


def answer_message(model: str, turn: Turn) -> Json:
    """The API's message object for a turn."""
    calls_tools = any(block["type"] == "tool_use" for block in turn.blocks)
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(turn.blocks),
        "stop_reason": "tool_use" if calls_tools else "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }


def stream_events(message: Json) -> Iterator[Json]:
    """The stream events that build up a message."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        empty, deltas = split_block(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": USAGE["output_tokens"]}}
    yield {"type": "message_stop"}


def split_block(block: Json) -> tuple[Json, list[Json]]:
    """The empty first form of a block and the deltas that fill it."""
    if block["type"] == "tool_use":
        parts = pieces(json.dumps(block["input"]))
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]
    if block["type"] == "thinking":
        thoughts = [{"type": "thinking_delta", "thinking": part} for part in pieces(block["thinking"])]
        signature = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [*thoughts, signature]
    return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in pieces(block["text"])]


def pieces(text: str) -> list[str]:
    return [text[start : start + PIECE_CHARS] for start in range(0, len(text), PIECE_CHARS)]
