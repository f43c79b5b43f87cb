"""The real Claude Code client, run offline in a scratch home."""

import json
import re
import shutil
from pathlib import Path

from .client import PROBE, Client, Run
from .model_server import says
from .wires import Json, call_block

API_KEY = "sk-test"

# Which tools are allowed changes which tools are announced, so every run gets the same list. Skipping all permissions
# is refused for root.
ALLOWED = ("--allowedTools", "Bash,Read,Edit,Write,Agent")

# Without this variable `-p` keeps no copies of the files it edits.
CHECKPOINTS = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1"}


class Claude(Client):
    """Claude Code, told by `-p`."""

    name = "claude-code"
    program_name = "claude"

    @property
    def config(self) -> Path:
        return self.home / ".claude"

    def variables(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": API_KEY,
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **CHECKPOINTS,
        }

    def asking(self, prompt: str, options: tuple[str, ...]) -> list[str]:
        return ["-p", prompt, "--output-format", "json", *ALLOWED, *options]

    def resuming(self, session_id: str) -> tuple[str, ...]:
        return ("--resume", session_id)

    def forking(self, session_id: str) -> tuple[str, ...]:
        return ("--resume", session_id, "--fork-session")

    def session_ids(self) -> list[str]:
        return [path.stem for path in self.config.glob("projects/*/*.jsonl")]

    def shell(self, command: str) -> Json:
        return call_block("Bash", command=command, description="run a command")

    def reads(self, path: Path) -> Json:
        return call_block("Read", file_path=str(path))

    def edits(self, path: Path, old: str, new: str) -> Json:
        return call_block("Edit", file_path=str(path), old_string=old, new_string=new)

    def writes(self, path: Path, line: str) -> Json:
        return call_block("Write", file_path=str(path), content=f"{line}\n")

    def resume_latest(self, cwd: Path) -> Run:
        """Resume whatever the client thinks is the last session of this folder."""
        return self.ask(PROBE, "--continue", answers=(says("probed"),), cwd=cwd)

    def rewind_files(self, session_id: str, prompt_uuid: str, cwd: Path | None = None) -> Run:
        """Put the edited files back to what they were before a prompt."""
        return self.ask("", "--resume", session_id, "--rewind-files", prompt_uuid, cwd=cwd)

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
