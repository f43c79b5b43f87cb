"""`muniment watch` as a service of the user: from login on, in the background, started again if it fails.

The file is written in any case. Where the system does not let itself be told to use it (a container, a session without
a bus), what to type is said instead.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping

from msgspec import Struct

from muniment import config, files, sources
from muniment.errors import Conflict, Unsupported
from muniment.service.systems import MARK, SYSTEMS, Command, Job, System, home_of
from muniment.sources import finding

ANSWER_SECONDS = 30.0

__all__ = ["Installed", "Service", "Status"]


class Installed(Struct, frozen=True):
    """What `install` and `uninstall` did, and what they leave for a person to type."""

    path: str
    changed: bool
    """Whether the file was written or removed just now."""
    to_type: tuple[str, ...] = ()
    note: str = ""
    """Why it has to be typed."""
    advice: str = ""


class Status(Struct, frozen=True):
    """How the service is."""

    path: str
    installed: bool
    current: bool
    """Whether the file is what `install` would write now."""
    running: bool
    note: str = ""
    lines: tuple[str, ...] = ()


class Service:
    """The service on this machine."""

    def __init__(self, store: str | None, env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> None:
        if platform not in SYSTEMS:
            raise Unsupported(
                f"no services on {platform}", "start `muniment watch` yourself, or `watch --once` by a timer"
            )
        self.env = env
        self.system: System = SYSTEMS[platform]
        self.path = self.system.file(env)
        command = (sys.executable, "-P", "-m", "muniment.surfaces.cli.main", "watch")
        self.job = Job(command, dict(_places(store, env)), home_of(env) / "Library" / "Logs" / "muniment.log")

    def install(self) -> Installed:
        """Write the file and start the service; if both is done already, it is started anew."""
        wanted = self.system.text(self.job)
        if self._is_foreign():
            raise Conflict(f"{self.path}: written by somebody else", "move it away first; it is left as it is")
        changed = files.write_if_changed(self.path, wanted)
        if not self.system.restarts:
            self._told(self.system.stop())  # a complaint only says that it was not running
        left, note = self._told(self.system.start(self.path))
        return Installed(str(self.path), changed, left, note, self.system.advice if not left else "")

    def uninstall(self) -> Installed:
        """Stop the service and remove its file."""
        if self._is_foreign():
            raise Conflict(f"{self.path}: written by somebody else", "it is left as it is")
        if not self.path.exists():
            return Installed(str(self.path), False)
        left, note = self._told(self.system.stop())
        for link in self.system.links(self.path):
            if link.is_symlink():
                link.unlink()
        self.path.unlink()
        self._told(list(self.system.removed))
        return Installed(str(self.path), True, left, note)

    def status(self) -> Status:
        """Whether it is installed and running, and what it said last."""
        installed = self.path.exists() and not self._is_foreign()
        code, answer, note = self._ask(self.system.ask())
        running = code == 0 and self.system.runs(answer)
        _, lines, _ = self._ask(self.system.lines(self.job)) if installed else (1, "", "")
        return Status(
            path=str(self.path),
            installed=installed,
            current=installed and self.path.read_bytes() == self.system.text(self.job),
            running=running,
            note="" if running else (note or answer).strip().split("\n")[0],
            lines=tuple(line for line in lines.splitlines() if line),
        )

    def _is_foreign(self) -> bool:
        """Whether there is a file of somebody else; a link is never ours."""
        if self.path.is_symlink():
            return True
        with contextlib.suppress(FileNotFoundError):
            return MARK.encode() not in self.path.read_bytes()
        return False

    # -- speaking to the system

    def _told(self, commands: list[Command]) -> tuple[tuple[str, ...], str]:
        """Say these one after the other; gives what is left to be typed, and why."""
        for number, command in enumerate(commands):
            code, _, complaint = self._ask(command)
            if code != 0:
                return tuple(shlex.join(left) for left in commands[number:]), complaint.strip().split("\n")[0]
        return (), ""

    def _ask(self, command: Command) -> tuple[int, str, str]:
        """Exit code, answer and complaint of a command."""
        try:
            done = subprocess.run(
                command, env=dict(self.env), capture_output=True, stdin=subprocess.DEVNULL, timeout=ANSWER_SECONDS
            )
        except FileNotFoundError:
            return 127, "", f"there is no {command[0]} here"
        except (OSError, subprocess.TimeoutExpired) as error:
            return 126, "", str(error)
        return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


# -- where things are


class _Asked(Mapping[str, str]):
    """An environment that remembers what it was asked for."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return self.env[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.env)

    def __len__(self) -> int:
        return len(self.env)


def _places(store: str | None, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The variables that say where the store and the agents' homes are: a service does not see those of a shell.

    Which these are, the sources know; every one they ask for holds a path."""
    asked = _Asked(env)
    root = config.store_root(store, asked)
    with files.noting_refused({}):  # one that fails is told of wherever sessions are looked for
        for source in sources.all_sources():
            finding.homes_of(source, asked)
    if store or "MUNIMENT_STORE" in env:
        yield "MUNIMENT_STORE", str(root)
    for name in sorted(asked.names - {"HOME", "MUNIMENT_STORE"}):
        if name in env:
            yield name, env[name]
