"""The systems that keep a user's services: the file each wants, and the commands it understands.

Nothing here looks at the machine it runs on, so each system can be tested on the other.
"""

from __future__ import annotations

import os
import plistlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from muniment.errors import Unsupported

MARK = "Written by `muniment service install`, removed by `muniment service uninstall`."
"""Only a file that bears it is ever replaced or removed."""

UNIT = "muniment.service"
LABEL = "muniment.watch"
NICE = 10
RESTART_SECONDS = 30
LINES = 5

Command = tuple[str, ...]


class Job(Struct, frozen=True):
    """What the service runs."""

    command: Command
    env: dict[str, str]
    log: Path
    """Where the system has no log of its own."""


class System(Struct, frozen=True):
    """How one system keeps services."""

    file: Callable[[Mapping[str, str]], Path]
    text: Callable[[Job], bytes]
    start: Callable[[Path], list[Command]]
    restarts: bool
    """Whether these start anew what runs already."""
    stop: Callable[[], list[Command]]
    links: Callable[[Path], list[Path]]
    """What the system itself puts beside the file when it starts it at login."""
    removed: tuple[Command, ...]
    """What to say once the file is gone."""
    ask: Callable[[], Command]
    runs: Callable[[str], bool]
    """Whether the answer says that it is running."""
    lines: Callable[[Job], Command]
    """The last ones of its log."""
    advice: str = ""


def home_of(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())


# -- systemd: `systemctl --user`

_SYSTEMCTL = ("systemctl", "--user")

_UNIT_TEXT = """\
# {mark}
[Unit]
Description=muniment watch: keeps the archive of agents' sessions current

[Service]
Type=exec
ExecStart={command}
{env}Restart=on-failure
RestartSec={restart}
KillMode=mixed
TimeoutStopSec=20
UMask=0077
Nice={nice}
IOSchedulingClass=idle
# What a user's own manager can enforce without privileges. It reads homes and writes one store; it needs no network.
NoNewPrivileges=yes
RestrictAddressFamilies=AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=default.target
"""


def unit_file(env: Mapping[str, str]) -> Path:
    given = env.get("XDG_CONFIG_HOME")
    base = Path(given) if given and Path(given).is_absolute() else home_of(env) / ".config"
    return base / "systemd" / "user" / UNIT


def unit_text(job: Job) -> bytes:
    command = " ".join(_quoted(part).replace("$", "$$") for part in job.command)
    env = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in sorted(job.env.items()))
    text = _UNIT_TEXT.format(mark=MARK, command=command, env=env, restart=RESTART_SECONDS, nice=NICE)
    return text.encode("utf-8", "surrogateescape")


def _quoted(text: str) -> str:
    """One word of a unit file. A newline cannot be put into one."""
    if not text.isprintable():
        raise Unsupported(f"{text!r}: a path with control characters cannot be put into a unit file")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


SYSTEMD = System(
    file=unit_file,
    text=unit_text,
    start=lambda _: [
        (*_SYSTEMCTL, "daemon-reload"),
        (*_SYSTEMCTL, "enable", UNIT),
        (*_SYSTEMCTL, "restart", UNIT),
    ],
    restarts=True,
    stop=lambda: [(*_SYSTEMCTL, "disable", "--now", UNIT)],
    links=lambda path: [path.parent / "default.target.wants" / UNIT],
    removed=((*_SYSTEMCTL, "daemon-reload"),),
    ask=lambda: (*_SYSTEMCTL, "is-active", UNIT),
    runs=lambda answer: answer.strip() in ("active", "activating", "reloading"),
    lines=lambda _: ("journalctl", "--user", "--unit", UNIT, "--lines", str(LINES), "--output", "cat", "--no-pager"),
    advice="it runs while you are logged in; `loginctl enable-linger` keeps it running after that",
)


# -- launchd: an agent in `~/Library/LaunchAgents`


def agent_file(env: Mapping[str, str]) -> Path:
    return home_of(env) / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def agent_text(job: Job) -> bytes:
    agent: dict[str, Any] = {
        "Label": LABEL,
        "ProgramArguments": list(job.command),
        "EnvironmentVariables": dict(sorted(job.env.items())),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": RESTART_SECONDS,
        "ProcessType": "Background",
        "Nice": NICE,
        "LowPriorityIO": True,
        "Umask": 0o077,
        "StandardOutPath": "/dev/null",
        "StandardErrorPath": str(job.log),
    }
    return plistlib.dumps(agent, sort_keys=False).replace(b"<plist ", f"<!-- {MARK} -->\n<plist ".encode(), 1)


def _target() -> str:
    return f"gui/{os.getuid()}"


LAUNCHD = System(
    file=agent_file,
    text=agent_text,
    start=lambda path: [("launchctl", "bootstrap", _target(), str(path))],
    restarts=False,
    stop=lambda: [("launchctl", "bootout", f"{_target()}/{LABEL}")],
    links=lambda _: [],
    removed=(),
    ask=lambda: ("launchctl", "print", f"{_target()}/{LABEL}"),
    runs=lambda answer: "state = running" in answer,
    lines=lambda job: ("tail", "-n", str(LINES), str(job.log)),
)

SYSTEMS = {"linux": SYSTEMD, "darwin": LAUNCHD}
"""By the name that Python has for a platform."""
