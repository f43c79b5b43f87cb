"""The real Claude Code client, run offline in a scratch home.

A `Claude` is one home and one project folder at paths that stay the same: the client writes its home path into the
system prompt, so two resumes are comparable only if both happen in the same place, one after the other. `keep` and
`reset` put the place back to what was recorded.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .model_server import Json, ModelServer, Turn, says

TIMEOUT_S = 60
API_KEY = "sk-test"
PROBE = "probe: what did we do?"

# Which tools are allowed changes which tools are announced, so every run gets the same list. Skipping all permissions
# is refused for root.
ALLOWED = ("--allowedTools", "Bash,Read,Edit,Write,Agent")

# Without this variable `-p` keeps no copies of the files it edits.
CHECKPOINTS = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1"}


@dataclass(frozen=True)
class Run:
    """One run of the client: how it ended and what it asked the model."""

    exit_code: int
    output: str
    errors: str
    requests: list[Json] = field(repr=False)

    @property
    def session_id(self) -> str:
        try:
            return json.loads(self.output)["session_id"]
        except (ValueError, KeyError):
            raise AssertionError(f"the client gave no result: {self.output or self.errors}") from None


class Claude:
    """The client with its home, its project folder and the model it talks to."""

    def __init__(self, program: Path, root: Path, model: ModelServer) -> None:
        self.program = program
        self.model = model
        self.home = root / "home"
        self.project = root / "project"
        self._kept = root / "kept"
        self._temporary = root / "tmp"
        for folder in (self.home, self.project, self._temporary):
            folder.mkdir(parents=True)

    @property
    def config(self) -> Path:
        return self.home / ".claude"

    def env(self) -> dict[str, str]:
        """The whole environment of the client; nothing of ours leaks in, above all no CLAUDE_CONFIG_DIR."""
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "TMPDIR": str(self._temporary),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": API_KEY,
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **CHECKPOINTS,
        }

    # --- running ---

    def start(self, prompt: str, *options: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        """Start one prompt in a process group of its own, so that it can be killed with its children."""
        return subprocess.Popen(
            [str(self.program), "-p", prompt, "--output-format", "json", *ALLOWED, *options],
            cwd=cwd or self.project,
            env=self.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def ask(self, prompt: str, *options: str, answers: tuple[Turn, ...] = (), cwd: Path | None = None) -> Run:
        """Run one prompt to its end against these answers."""
        self.model.play(*answers)
        before = len(self.model.requests)
        process = self.start(prompt, *options, cwd=cwd)
        try:
            output, errors = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            kill(process)
            raise
        return Run(process.returncode, output, errors, self.model.requests[before:])

    def resume(self, session_id: str, cwd: Path | None = None) -> Run:
        """Resume a session with a prompt that stands for "go on"."""
        return self.ask(PROBE, "--resume", session_id, answers=(says("probed"),), cwd=cwd)

    def resume_latest(self, cwd: Path) -> Run:
        """Resume whatever the client thinks is the last session of this folder."""
        return self.ask(PROBE, "--continue", answers=(says("probed"),), cwd=cwd)

    def rewind_files(self, session_id: str, prompt_uuid: str, cwd: Path | None = None) -> Run:
        """Put the edited files back to what they were before a prompt."""
        return self.ask("", "--resume", session_id, "--rewind-files", prompt_uuid, cwd=cwd)

    def kill_when(self, reached: Callable[[], object], prompt: str, *options: str) -> None:
        """Start a prompt and kill the client with SIGKILL as soon as `reached` is true."""
        process = self.start(prompt, *options)
        try:
            wait_until(reached)
        finally:
            kill(process)

    # --- files ---

    def transcript(self, session_id: str) -> Path:
        """The main file of a session, in whichever project folder it is."""
        found = list(self.config.glob(f"projects/*/{session_id}.jsonl"))
        assert len(found) == 1, f"{len(found)} transcripts of {session_id}"
        return found[0]

    def records(self, session_id: str) -> list[Json]:
        """The records on disk; a last line that is still being written is not there yet."""
        return [json.loads(line) for line in self.transcript(session_id).read_bytes().split(b"\n")[:-1]]

    def project_folder(self, cwd: Path) -> Path:
        """Where the client keeps the sessions of a working directory (for paths of fewer than 200 characters)."""
        return self.config / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd.resolve()))

    def delete_session(self, session_id: str) -> None:
        """Delete all that the client holds of one session, as its own clean-up does and more."""
        transcript = self.transcript(session_id)
        transcript.unlink()
        for folder in (transcript.with_suffix(""), *self.config.glob(f"*/{session_id}")):
            shutil.rmtree(folder, ignore_errors=True)
        self._delete_history_lines(session_id)

    def _delete_history_lines(self, session_id: str) -> None:
        history = self.config / "history.jsonl"
        if history.exists():
            lines = history.read_bytes().splitlines(keepends=True)
            history.write_bytes(b"".join(line for line in lines if session_id.encode() not in line))

    def keep(self) -> None:
        """Remember home and project as they are now."""
        for folder in (self.home, self.project):
            shutil.copytree(folder, self._kept / folder.name, symlinks=True)

    def reset(self) -> None:
        """Put home and project back to what was kept."""
        for folder in (self.home, self.project):
            shutil.rmtree(folder)
            shutil.copytree(self._kept / folder.name, folder, symlinks=True)


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a client that we started, and its process group."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def wait_until(reached: Callable[[], object], timeout_s: float = 20) -> None:
    """Return when `reached` is true; an error tells that it never was."""
    end = time.monotonic() + timeout_s
    while not reached():
        if time.monotonic() > end:
            raise TimeoutError("the client did not come so far")
        time.sleep(0.05)
