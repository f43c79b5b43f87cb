"""A small world to break: session trees of Claude Code, the command line as a process, and what a store holds."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

CLI = [sys.executable, "-c", "from muniment.surfaces.cli.main import main; main()"]
SPACE = uuid.UUID("00000000-0000-4000-8000-0000000fa017")
COMMON = "lighthouse"
"""A word that every session contains."""


def identity(name: str) -> str:
    return str(uuid.uuid5(SPACE, name))


def needle(number: int) -> str:
    """A word that only one session contains."""
    return f"needle{number:04d}"


# -- session trees


class Session:
    """One transcript, line by line. What it says is a function of its number."""

    def __init__(self, number: int, tool_bytes: int = 300) -> None:
        self.number = number
        self.id = identity(f"session {number}")
        self.random = random.Random(number)
        self.tool_bytes = tool_bytes
        self.count = 0
        self.last: str | None = None

    def _record(self, type_: str, message: dict[str, object], **more: object) -> bytes:
        self.count += 1
        own = identity(f"{self.number}/{self.count}")
        minute, second = divmod(self.count, 60)
        record = {
            "parentUuid": self.last,
            "isSidechain": False,
            "type": type_,
            "message": message,
            "uuid": own,
            "timestamp": f"2026-03-{1 + self.number % 28:02d}T10:{minute % 60:02d}:{second:02d}.120Z",
            "userType": "external",
            "cwd": f"/home/ada/project{self.number % 3}",
            "sessionId": self.id,
            "version": "2.1.205",
            "gitBranch": "main",
            **more,
        }
        self.last = own
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"

    def words(self, count: int) -> str:
        return " ".join(f"word{self.random.randrange(5000)}" for _ in range(count))

    def round(self) -> list[bytes]:
        """A prompt, a tool call with its result, an answer."""
        prompt = f"{COMMON} {needle(self.number)} {self.words(6)}"
        call = f"toolu_{self.number}_{self.count}"
        usage = {"input_tokens": 7, "output_tokens": self.random.randrange(900)}
        speech = {"model": "claude-opus-4-6", "id": f"msg_{self.number}_{self.count}", "role": "assistant"}
        tool = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": self.words(4)}}
        result = {"type": "tool_result", "tool_use_id": call, "content": self.words(self.tool_bytes // 9)}
        text = {"type": "text", "text": self.words(30)}
        return [
            self._record("user", {"role": "user", "content": prompt}),
            self._record("assistant", {**speech, "content": [tool], "usage": usage}),
            self._record("user", {"role": "user", "content": [result]}),
            self._record("assistant", {**speech, "content": [text], "usage": usage}),
        ]

    def lines(self, rounds: int) -> list[bytes]:
        return [line for _ in range(rounds) for line in self.round()]


class Tree:
    """A home of Claude Code."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.sessions: dict[int, Session] = {}

    def transcript(self, number: int) -> Path:
        return self.home / "projects" / f"-home-ada-project{number % 3}" / f"{identity(f'session {number}')}.jsonl"

    def add(self, number: int, rounds: int, tool_bytes: int = 300, side_files: bool = False) -> Path:
        session = self.sessions[number] = Session(number, tool_bytes)
        path = self.transcript(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(session.lines(rounds)))
        with (self.home / "history.jsonl").open("ab") as history:
            entry = {"display": f"{COMMON} {number}", "sessionId": session.id, "project": "/home/ada"}
            history.write(json.dumps(entry).encode() + b"\n")
        if side_files:
            self._side_files(number, path.with_suffix(""))
        return path

    def _side_files(self, number: int, folder: Path) -> None:
        side = Session(number + 10_000)
        side.id = self.sessions[number].id
        content = b"".join(line.replace(b'"isSidechain":false', b'"isSidechain":true') for line in side.lines(2))
        write(folder / "subagents" / f"agent-a{number:03d}.jsonl", content)
        write(folder / "subagents" / f"agent-a{number:03d}.meta.json", b'{"agentType":"general-purpose"}')
        write(folder / "tool-results" / f"out{number}.txt", self.sessions[number].words(400).encode())
        write(self.home / "file-history" / side.id / "abc@v1", b"\0\xff the file as it was")

    def grow(self, rounds: int = 1) -> None:
        """Every transcript goes on."""
        for number, session in self.sessions.items():
            with self.transcript(number).open("ab") as out:
                out.write(b"".join(session.lines(rounds)))

    def content(self) -> dict[str, bytes]:
        """Every file by its name; the prompt history as sorted lines, because it is shared."""
        return normal(contents(self.home))


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def small(home: Path, count: int = 4, first: int = 0) -> Tree:
    """Few sessions of few rounds: inscribed without worker processes."""
    tree = Tree(home)
    for number in range(first, first + count):
        tree.add(number, rounds=2 + number % 2, side_files=number % 2 == 1)
    return tree


def large(home: Path) -> Tree:
    """Thirty sessions, one of about ten megabytes: inscribed by worker processes."""
    tree = Tree(home)
    for number in range(29):
        tree.add(number, rounds=1 + number % 4, side_files=number % 5 == 0)
    tree.add(29, rounds=20, tool_bytes=500_000)
    return tree


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def normal(tree: dict[str, bytes]) -> dict[str, bytes]:
    history = tree.get("history.jsonl")
    return tree if history is None else tree | {"history.jsonl": b"\n".join(sorted(history.split(b"\n")))}


# -- the command line


class Ran:
    """A finished command."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    def __repr__(self) -> str:
        return f"exit code {self.code}\n--- out\n{self.out[-3000:]}\n--- err\n{self.err[-3000:]}"


def environment(home: Path, **more: str) -> dict[str, str]:
    """Nothing of the machine: a home of its own, no configured places."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "PYTHONPATH") if name in os.environ}
    return kept | {"HOME": str(home), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "400"} | more


def start(
    store: Path,
    *words: object,
    patch: str = "",
    wrap: Sequence[str] = (),
    before: Callable[[], None] | None = None,
    umask: int = -1,
    env: dict[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """A command in a process group of its own; `patch` is Python that breaks the product first."""
    command = [*wrap, *CLI, "--store", str(store), *map(str, words)]
    if patch:
        command[command.index("-c") + 1] = f"{patch}\n{CLI[2]}"
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(store.parent / "nobody") | (env or {}),
        start_new_session=True,
        preexec_fn=before,
        umask=umask,
    )


def finish(process: subprocess.Popen[bytes], timeout: float = 60) -> Ran:
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        kill(process)
        raise
    return Ran(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def kill(process: subprocess.Popen[bytes]) -> None:
    """The process and its workers, at once, without a word of warning."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def run(store: Path, *words: object, timeout: float = 60, **how: object) -> Ran:
    return finish(start(store, *words, **how), timeout)  # type: ignore[arg-type]


def done(store: Path, *words: object, **how: object) -> Ran:
    """Run a command that must succeed."""
    ran = run(store, *words, **how)
    assert ran.code == 0, ran
    return ran


def one_line(ran: Ran) -> list[str]:
    """What is wrong with an error message: it is one line, perhaps with a hint, and no traceback."""
    lines = [line for line in ran.err.splitlines() if line.strip()]
    found = []
    if "Traceback" in ran.err + ran.out:
        found.append("a traceback")
    if not lines or not lines[0].startswith("muniment: "):
        found.append("no line that begins with `muniment: `")
    if len(lines) > 2 or (len(lines) == 2 and not lines[1].startswith("  hint: ")):
        found.append(f"{len(lines)} lines")
    return found


def copy(store: Path, to: Path) -> Path:
    shutil.copytree(store, to, symlinks=True)
    return to


def owner_without_privileges() -> list[str] | None:
    """What makes a command obey file modes even for root; None where it cannot be had."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        return None
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


def every(folder: Path) -> Iterator[Path]:
    yield folder
    yield from sorted(folder.rglob("*"))
