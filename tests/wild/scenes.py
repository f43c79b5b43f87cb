"""What these tests share: sessions on a machine, the archive's view of them, and programs in processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Generator
from pathlib import Path
from typing import Any

from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.model import Round, Text
from muniment.restore import Target
from muniment.store.session_table import Listed
from tests.builder import ClaudeSession

DAY = 86_400
THREAD = "01a00000-0000-7000-8000-000000000001"


def session_id(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"wild:{name}"))


class Machine:
    """A user's folder with the homes of agents, and an archive."""

    def __init__(self, archive: Archive, home: Path) -> None:
        self.archive = archive
        self.home = home
        self.codex = home.parent / ".codex"

    # -- what agents write

    def claude(self, name: str, rounds: int = 2, days_old: float = 0, slug: str = "-proj-shop") -> Path:
        """A finished session of Claude Code, last written to so many days ago, with its line in the prompt history."""
        session = ClaudeSession(session_id(name), cwd="/proj/shop")
        for number in range(rounds):
            session.exchange(f"{name} prompt {number}", f"{name} reply {number}")
        path = session.write(self.home, slug)
        aged(path, days_old)
        with (self.home / "history.jsonl").open("a") as history:
            history.write(json.dumps({"display": f"{name} prompt 0", "sessionId": session.id}) + "\n")
        return path

    def put(self, session: ClaudeSession) -> Path:
        return session.write(self.home, "-proj-shop")

    def rollout(self, data: bytes, thread: str = THREAD) -> Path:
        """A rollout where Codex keeps it."""
        path = self.codex / "sessions" / "2026" / "01" / "02" / f"rollout-2026-01-02T03-04-05-{thread}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def transcripts(self) -> list[Path]:
        return sorted((self.home / "projects").rglob("*.jsonl"))

    def sweep(self, days: float = 30) -> list[Path]:
        """Delete transcripts that were not written to for so long, as the client does at its start."""
        gone = [path for path in self.transcripts() if time.time() - path.stat().st_mtime > days * DAY]
        for path in gone:
            path.unlink()
        return gone

    # -- what the archive does

    def inscribe(self, *paths: Path) -> list[Outcome]:
        outcomes: list[Outcome] = []
        self.archive.inscribe(paths, outcomes.append)
        return outcomes

    def one(self, *paths: Path) -> Outcome:
        """Inscribe what must be one session."""
        (outcome,) = self.inscribe(*paths)
        assert outcome.what != "failed", outcome.note
        return outcome

    def listed(self) -> list[str]:
        return sorted(row.session_id for row in self.archive.sessions())

    def row(self, session: str) -> Listed:
        return self.archive.session(session)

    def rounds(self, session: str = "last") -> list[Round]:
        return list(self.archive.rounds(self.row(session)))

    def words(self, session: str = "last") -> list[str]:
        """Every text of the conversation, as stored."""
        return [block.text for r in self.rounds(session) for block in r.blocks() if isinstance(block, Text)]

    def document(self, session: str = "last") -> str:
        return self.archive.shelf(self.row(session)).document.read_text()

    def restore_all(self) -> None:
        for row in self.archive.sessions():
            self.archive.restore(row.session_id)

    def restored(self, session: str, path: Path, into: Path) -> bytes:
        """The bytes that the archive gives back for one file of a home."""
        self.archive.restore(session, Target(to=into))
        home = self.codex if self.codex in path.parents else self.home
        return (into / path.relative_to(home)).read_bytes()


def aged(path: Path, days: float) -> Path:
    then = time.time() - days * DAY
    os.utime(path, (then, then))
    return path


def contents(paths: list[Path]) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in paths}


# -- rollouts of Codex


def record(type_: str, payload: dict[str, Any], **envelope: Any) -> bytes:
    said = {"timestamp": "2026-01-02T03:04:05.000Z", **envelope, "type": type_, "payload": payload}
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"


def meta(thread: str = THREAD, **envelope: Any) -> bytes:
    about = {"id": thread, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/proj/shop", "cli_version": "0.150.0"}
    return record("session_meta", about | {"originator": "codex_cli_rs"}, **envelope)


def said(role: str, words: str, **envelope: Any) -> bytes:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": words}]
    return record("response_item", {"type": "message", "role": role, "content": content}, **envelope)


def turn(number: int, **envelope: Any) -> bytes:
    return said("user", f"ask {number}", **envelope) + said("assistant", f"answer {number}", **envelope)


def exchanged(*numbers: int) -> list[str]:
    """What turns of these numbers say."""
    return [words for number in numbers for words in (f"ask {number}", f"answer {number}")]


# -- recorded sessions


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def texts(found: list[Any]) -> list[str]:
    """What the events of a chain say."""
    return [event.payload["text"] for event in found if "text" in event.payload]


# -- other processes


def start(code: str, *words: object, **env: str) -> subprocess.Popen[bytes]:
    """A program that uses muniment; it speaks through its standard output."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, words)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | env)


def finish(process: subprocess.Popen[bytes], seconds: float = 60, ends: tuple[int, ...] = (0,)) -> str:
    """What it said, once it ended well, or as one of these codes says."""
    try:
        out, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    assert process.returncode in ends, (process.returncode, out)
    return out.decode()


def ready(process: subprocess.Popen[bytes]) -> None:
    """Wait for its first word."""
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"


@contextlib.contextmanager
def running(code: str, *words: object) -> Generator[subprocess.Popen[bytes]]:
    """A program that has said that it is ready; it ends with the block."""
    process = start(code, *words)
    try:
        ready(process)
        yield process
    finally:
        process.kill()
        process.communicate()
