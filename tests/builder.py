"""A small Claude Code session for tests, record by record."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any


class ClaudeSession:
    """Writes records the way the client does: each follows the last one unless told otherwise."""

    def __init__(self, session_id: str | None = None, cwd: str = "/w", **fixed: Any) -> None:
        self.id = session_id or str(uuid.uuid5(uuid.NAMESPACE_URL, f"test:{cwd}"))
        self.fixed = {"cwd": cwd, "sessionId": self.id, "version": "2.1.205", "gitBranch": "main"} | fixed
        self.lines: list[bytes] = []
        self.last: str | None = None
        self.seconds = 0

    def add(self, record: dict[str, Any]) -> None:
        self.lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    def chain(self, type_: str, parent: str | None = "last", **fields: Any) -> str:
        self.seconds += 1
        own = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.id}:{len(self.lines)}"))
        at = f"2026-03-19T10:{self.seconds // 60:02d}:{self.seconds % 60:02d}.000Z"
        record = {"parentUuid": self.last if parent == "last" else parent, "isSidechain": False, "type": type_}
        self.add(record | fields | {"uuid": own, "timestamp": at} | self.fixed)
        self.last = own
        return own

    def user(self, text: str, **fields: Any) -> str:
        return self.chain("user", message={"role": "user", "content": text}, **fields)

    def answer(self, *parts: dict[str, Any], id_: str | None = None, **fields: Any) -> list[str]:
        """One API message, each part in a record of its own."""
        id_ = id_ or f"msg_{len(self.lines):04d}"
        usage = {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 100}
        envelope = {"model": "claude-x", "id": id_, "type": "message", "role": "assistant", "usage": usage}
        return [self.chain("assistant", message=envelope | {"content": [part]}, **fields) for part in parts]

    def result(self, tool_id: str, content: Any, parent: str | None = "last", **flags: Any) -> str:
        part = {"tool_use_id": tool_id, "type": "tool_result", "content": content} | flags
        return self.chain("user", parent=parent, message={"role": "user", "content": [part]})

    def exchange(self, prompt: str, reply: str) -> None:
        """A prompt, a tool call with its result, and an answer."""
        self.user(prompt)
        tool_id = f"toolu_{len(self.lines):04d}"
        self.answer(text("On it."), tool(tool_id, "Bash", {"command": f"echo {prompt}"}))
        self.result(tool_id, f"{prompt}\n", is_error=False)
        self.answer({"type": "thinking", "thinking": "Well.", "signature": "c2ln"}, text(reply))

    @property
    def data(self) -> bytes:
        return b"".join(self.lines)

    def write(self, home: Path, slug: str = "-w") -> Path:
        """Put it where the client would."""
        path = home / "projects" / slug / f"{self.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data)
        return path


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def tool(id_: str, name: str, value: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": value}


def conversation(rounds: int = 3, session_id: str | None = None, cwd: str = "/w") -> ClaudeSession:
    """A session of so many rounds."""
    session = ClaudeSession(session_id, cwd)
    for number in range(rounds):
        session.exchange(f"prompt {number}", f"reply {number}")
    return session


def hurt(session: ClaudeSession) -> ClaudeSession:
    """The same session as killed writers and a crash of the machine leave it: halves, NULs, newlines left out."""
    first, *rest = session.lines
    before = (b"", b'{"parentUuid":null,"type":"user","message":{"role":"user","content":"half a sen', b"", bytes(12))
    behind = (b"", b"\n", b"\0\0\n")
    session.lines = [first]
    for number, line in enumerate(rest):
        session.lines.append(before[number % 4] + line[:-1] + behind[number % 3])
    session.lines.append(b"\n")
    return session
