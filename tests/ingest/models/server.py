"""A server process that speaks as much of three APIs as a client needs: Anthropic's Messages and Message Batches,
OpenAI's chat completions, Ollama's chat.

    python server.py        prints its port, and serves until its standard input ends

`POST /control` gives it a script: what to answer, step by step, the last step again and again. `GET /control` tells
what it was asked. A step has `status`, `headers`, `delay`, `text`, `stop`, `usage` or a whole `body`, all optional.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = dict[str, Any]


class State:
    """What the server was told and what it has heard."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reset({})

    def reset(self, script: dict[str, Any]) -> None:
        self.steps: list[Step] = script.get("steps") or [{}]
        self.batch: dict[str, Any] = script.get("batch") or {}
        self.seen: list[dict[str, Any]] = []
        if not script.get("keep"):
            self.batches: dict[str, list[dict[str, Any]]] = {}
        self.looks = 0

    def step(self) -> Step:
        with self.lock:
            return self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]


STATE = State()


def good_answer(user: str, topic: str = "Build the parser of the import") -> str:
    """An answer that fits the question."""
    told = re.search(r"turns 1 to (\d+)", user)
    engagement = {
        "topic": topic,
        "project": "/proj/import",
        "method": "build",
        "phase": "completed",
        "key_decisions": ["Read line by line."],
        "outcome": "The parser reads every file.",
        "next_steps": [],
        "turn_ranges": [{"first": 1, "last": int(told[1]) if told else 1}],
    }
    answer = {"engagements": [engagement], "session_summary": "A parser was built.", "agent_name": None}
    return json.dumps(answer | {"agent_role": None})


def message(step: Step, request: dict[str, Any]) -> dict[str, Any]:
    """An answer of the Messages API."""
    text = step.get("text", good_answer(request["messages"][0]["content"]))
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [
            {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
            {"type": "text", "text": text},
        ],
        "stop_reason": step.get("stop", "end_turn"),
        "stop_sequence": None,
        "usage": step.get("usage", {"input_tokens": 1000, "output_tokens": 200}),
    }


def completion(step: Step, request: dict[str, Any]) -> dict[str, Any]:
    text = step.get("text", good_answer(request["messages"][-1]["content"]))
    spoken = {"role": "assistant", "content": text, "refusal": step.get("refusal")}
    choice = {"index": 0, "finish_reason": step.get("stop", "stop"), "message": spoken}
    usage = {"prompt_tokens": 900, "completion_tokens": 150}
    return {"id": "c1", "object": "chat.completion", "choices": [choice], "usage": usage}


def ollama(step: Step, request: dict[str, Any]) -> dict[str, Any]:
    text = step.get("text", good_answer(request["messages"][-1]["content"]))
    spoken = {"role": "assistant", "content": text}
    counts = {"prompt_eval_count": 800, "eval_count": 120}
    return {"model": request["model"], "message": spoken, "done": True, "done_reason": "stop"} | counts


SPEAKERS = {"/v1/messages": message, "/v1/chat/completions": completion, "/api/chat": ollama}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/control":
            self.answer(200, STATE.seen)
            return
        self.note(None)
        found = re.fullmatch(r"/v1/messages/batches/(\w+)(/results)?", self.path)
        if not found or found[1] not in STATE.batches:
            self.answer(404, {"type": "error", "error": {"type": "not_found_error", "message": "no such batch"}})
        elif found[2]:
            self.results(STATE.batches[found[1]])
        else:
            self.answer(200, self.batch(found[1]))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = json.loads(body)
        if self.path == "/control":
            STATE.reset(request)
            self.answer(200, {})
            return
        self.note(request)
        if self.path == "/v1/messages/batches":
            self.create(request)
            return
        step = STATE.step()
        time.sleep(step.get("delay", 0))
        status = step.get("status", 200)
        if status != 200:
            error = {"type": "error", "error": {"type": "api_error", "message": step.get("said", "it went wrong")}}
            self.answer(status, error, step.get("headers"))
        elif "body" in step:
            self.send(200, step["body"].encode(), step.get("headers") or {})
        else:
            self.answer(200, SPEAKERS[self.path](step, request), step.get("headers"))

    # -- batches

    def create(self, request: dict[str, Any]) -> None:
        if STATE.batch.get("status"):
            self.answer(STATE.batch["status"], {"type": "error", "error": {"type": "api_error", "message": "no"}})
            return
        name = f"msgbatch_{len(STATE.batches) + 1}"
        STATE.batches[name] = request["requests"]
        self.answer(200, self.batch(name))

    def batch(self, name: str) -> dict[str, Any]:
        STATE.looks += 1
        ended = STATE.looks > STATE.batch.get("looks", 2)
        size = len(STATE.batches[name])
        counts = {"processing": 0 if ended else size, "succeeded": size if ended else 0}
        url = f"http://{self.headers['Host']}/v1/messages/batches/{name}/results"
        return {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts | {"errored": 0, "canceled": 0, "expired": 0},
            "created_at": "2026-11-01T10:00:00Z",
            "expires_at": "2026-11-02T10:00:00Z",
            "ended_at": "2026-11-01T11:00:00Z" if ended else None,
            "results_url": url if ended else None,
        }

    def results(self, requests: list[dict[str, Any]]) -> None:
        """One line for each, in another order than they were asked."""
        types = STATE.batch.get("results") or []
        lines: list[str] = []
        for number, request in enumerate(requests):
            step = types[number] if number < len(types) else {}
            result: dict[str, Any] = {"type": step.get("type", "succeeded")}
            if result["type"] == "succeeded":
                result["message"] = message(step, request["params"])
            if result["type"] == "errored":
                result["error"] = {"type": "error", "error": {"type": "api_error", "message": "it went wrong"}}
            lines.append(json.dumps({"custom_id": step.get("custom_id", request["custom_id"]), "result": result}))
        self.send(200, "".join(line + "\n" for line in reversed(lines)).encode(), {})

    # -- the wire

    def note(self, request: dict[str, Any] | None) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        with STATE.lock:
            STATE.seen.append(
                {"at": time.time(), "method": self.command, "path": self.path, "headers": headers, "body": request}
            )

    def answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self.send(status, json.dumps(body).encode(), headers or {})

    def send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        try:
            self.send_response(status)
            for name, value in ({"Content-Type": "application/json"} | headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
