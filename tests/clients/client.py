"""An agent program, run offline in a scratch home.

A `Client` is one home and one project folder at paths that stay the same: clients write both into what they tell the
model, so two resumes are comparable only if they happen in the same place, one after the other. `keep` and `reset` put
the place back to what was recorded.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from .model_server import ModelServer, Turn, says
from .wires import Json

TIMEOUT_S = 120
PROBE = "probe: what did we do?"
MODEL = "stand-in"


@dataclass(frozen=True)
class Run:
    """One run of the client: how it ended and what it asked the model."""

    exit_code: int
    output: str
    errors: str
    requests: list[Json] = field(repr=False)

    @property
    def session_id(self) -> str:
        """The id in the result, of a client that tells its result as JSON."""
        try:
            return json.loads(self.output)["session_id"]
        except (ValueError, KeyError):
            raise AssertionError(f"the client gave no result: {self.output or self.errors}") from None


class Client:
    """The client with its home, its project folder and the model it talks to."""

    name: ClassVar[str]
    """As muniment calls the agent."""
    program_name: ClassVar[str]

    def __init__(self, program: Path, root: Path, model: ModelServer) -> None:
        self.program = program
        self.model = model
        self.home = root / "home"
        self.project = root / "project"
        self._kept = root / "kept"
        self._temporary = root / "tmp"
        for folder in (self.home, self.project, self._temporary):
            folder.mkdir(parents=True)
        self.settle()

    # --- what every client says of itself ---

    def settle(self) -> None:
        """Write the settings that lead the client to the stand-in."""

    def variables(self) -> dict[str, str]:
        """What the client needs in its environment."""
        return {}

    def asking(self, prompt: str, options: tuple[str, ...]) -> list[str]:
        """The arguments that run one prompt to its end."""
        raise NotImplementedError

    def resuming(self, session_id: str) -> tuple[str, ...]:
        """The options that go on with a session."""
        raise NotImplementedError

    def forking(self, session_id: str) -> tuple[str, ...]:
        """The options that go on with a copy of a session."""
        raise NotImplementedError

    def session_ids(self) -> list[str]:
        """The sessions on the client's disk."""
        raise NotImplementedError

    def take_in(self, command: str, cwd: Path | None = None) -> None:
        """Do what has to be done before a written session can be resumed: most clients find it by themselves."""
        raise AssertionError(f"nobody said that this was needed: {command}")

    def shell(self, command: str) -> Json:
        """A call of the tool that runs a command."""
        raise NotImplementedError

    def reads(self, path: Path) -> Json:
        """A call that reads a file."""
        raise NotImplementedError

    def looks_at(self, path: Path) -> Json:
        """A call that shows a picture to the model."""
        return self.reads(path)

    def edits(self, path: Path, old: str, new: str) -> Json:
        """A call that replaces a line of a file."""
        raise NotImplementedError

    def writes(self, path: Path, line: str) -> Json:
        """A call that writes a new file of one line."""
        raise NotImplementedError

    # --- running ---

    def env(self) -> dict[str, str]:
        """The whole environment of the client; nothing of ours leaks in, above all no place of its files."""
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "TMPDIR": str(self._temporary),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "xterm-256color",
            **self.variables(),
        }

    def start(self, prompt: str, *options: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        """Start one prompt in a process group of its own, so that it can be killed with its children."""
        return self._start(self.asking(prompt, options), cwd)

    def _start(self, arguments: list[str], cwd: Path | None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.program), *arguments],
            cwd=cwd or self.project,
            env=self.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, cwd: Path | None = None) -> Run:
        """Run the program with these arguments to its end."""
        before = len(self.model.requests)
        process = self._start(list(arguments), cwd)
        try:
            output, errors = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            kill(process)
            raise
        return Run(process.returncode, output, errors, self.model.requests[before:])

    def ask(self, prompt: str, *options: str, answers: tuple[Turn, ...] = (), cwd: Path | None = None) -> Run:
        """Run one prompt to its end against these answers."""
        self.model.play(*answers)
        return self.run(*self.asking(prompt, options), cwd=cwd)

    def resume(self, session_id: str, cwd: Path | None = None) -> Run:
        """Resume a session with a prompt that stands for "go on"."""
        return self.ask(PROBE, *self.resuming(session_id), answers=(says("probed"),), cwd=cwd)

    def kill_when(self, reached: Callable[[], object], prompt: str, *options: str) -> None:
        """Start a prompt and kill the client with SIGKILL as soon as `reached` is true."""
        process = self.start(prompt, *options)
        try:
            wait_until(reached)
        finally:
            kill(process)

    # --- files ---

    def forget_all(self) -> None:
        """A home with nothing but settings, as on a new machine."""
        shutil.rmtree(self.home)
        self.home.mkdir()
        self.settle()

    def keep(self) -> None:
        """Remember home and project as they are now."""
        for folder in (self.home, self.project):
            copy_tree(folder, self._kept / folder.name)

    def reset(self) -> None:
        """Put home and project back to what was kept."""
        for folder in (self.home, self.project):
            shutil.rmtree(folder, ignore_errors=True)
            copy_tree(self._kept / folder.name, folder)


def copy_tree(folder: Path, to: Path) -> None:
    """Copy all but caches, into which some clients unpack their own program."""
    shutil.copytree(folder, to, symlinks=True, ignore=shutil.ignore_patterns(".cache"))


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a client that we started, and its process group."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def wait_until(reached: Callable[[], object], timeout_s: float = 60) -> None:
    """Return when `reached` is true; an error tells that it never was."""
    end = time.monotonic() + timeout_s
    while not reached():
        if time.monotonic() > end:
            raise TimeoutError("the client did not come so far")
        time.sleep(0.05)
