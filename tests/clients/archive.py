"""The `muniment` command as a user runs it, on one store and one home."""

import os
import subprocess
import sys
from pathlib import Path

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
        self._succeed("inscribe", str(self._home / ".claude" / "projects"))

    def restore(self, session_id: str, *options: str) -> None:
        self._succeed("restore", session_id, *options)

    def export(self, session_id: str, *options: str) -> None:
        self._succeed("export-claude", session_id, *options)

    def _succeed(self, *arguments: str) -> None:
        done = self.run(*arguments)
        said = f"{done.stdout}{done.stderr}"
        assert done.returncode == 0, f"muniment {' '.join(arguments)}: exit {done.returncode}\n{said}"
