"""The `muniment` command as a user runs it, on one store and one home."""

import json
import os
import subprocess
import sys
from pathlib import Path

from .client import Client
from .wires import Json

PROGRAM = Path(sys.executable).parent / "muniment"


class Archive:
    """One store, used for the sessions of one home."""

    def __init__(self, store: Path, home: Path) -> None:
        self._store = store
        self._home = home

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, whatever that is."""
        assert PROGRAM.exists(), f"muniment is not installed: {PROGRAM}"
        env = {"HOME": str(self._home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        command = [str(PROGRAM), "--store", str(self._store), *arguments]
        return subprocess.run(command, cwd=self._home, env=env, capture_output=True, text=True, timeout=60)

    def inscribe(self) -> None:
        """Put everything into the store that any agent keeps in this home."""
        self.succeed("inscribe")

    def restore(self, session_id: str, *options: str) -> None:
        self.succeed("restore", session_id, *options)

    def export(self, session_id: str, *options: str) -> None:
        self.succeed("export-claude", session_id, *options)

    def give_back(self, client: Client, *arguments: str, cwd: Path | None = None) -> list[str]:
        """Restore a session, do what is said then, and return the paths of its files."""
        files: list[Json] = json.loads(self.succeed("restore", *arguments, "--json"))
        for file in files:
            if file["then"]:
                client.take_in(file["then"], cwd)
        return [file["path"] for file in files]

    def hand_over(self, client: Client, *arguments: str) -> str:
        """Run a command that writes a session for a client, do what it says, and return the session's id."""
        report: Json = json.loads(self.succeed(*arguments, "--json"))
        *before, resume = report["resume"].split(" && ")
        for command in before:
            client.take_in(command)
        assert report["session_id"] in resume
        return report["session_id"]

    def succeed(self, *arguments: str) -> str:
        """Run a command that must end well, and return what it wrote."""
        done = self.run(*arguments)
        said = f"{done.stdout}{done.stderr}"
        assert done.returncode == 0, f"muniment {' '.join(arguments)}: exit {done.returncode}\n{said}"
        return done.stdout
