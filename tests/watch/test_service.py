"""`muniment service` on both systems, with commands that only take notes in place of the system's own."""

from __future__ import annotations

import configparser
import os
import plistlib
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from muniment.errors import Conflict, Unsupported
from muniment.service import Service
from muniment.service.systems import LAUNCHD, SYSTEMD, Job

from .watched import CLI

RUN = (sys.executable, "-P", "-m", "muniment.surfaces.cli.main", "watch")
GUI = f"gui/{os.getuid()}"

FAKE = """\
#!/bin/sh
# Notes what it is told. Runs once it was started, unless there is no bus.
echo "$(basename "$0") $*" >> {notes}
[ -e {notes}.no-bus ] && {{ echo "Failed to connect to bus" >&2; exit 1; }}
case "$*" in
  *restart*|*bootstrap*) touch {notes}.running ;;
  *disable*) rm -f {notes}.running ;;
  *bootout*) rm {notes}.running 2>/dev/null || {{ echo "No such process" >&2; exit 3; }} ;;
  *is-active*) [ -e {notes}.running ] && echo active || {{ echo inactive; exit 3; }} ;;
  *print*) [ -e {notes}.running ] && echo "	state = running" || {{ echo "Could not find service" >&2; exit 113; }} ;;
  *--lines*|*-n*) printf '10:00:00  watching\\n10:00:01  11111111  appended, 4 rounds\\n' ;;
esac
"""


class System:
    """A machine with one of the two systems."""

    def __init__(self, root: Path, platform: str) -> None:
        self.platform = platform
        self.user = root / "user"
        self.user.mkdir()
        self.notes = root / "notes"
        programs = root / "bin"
        programs.mkdir()
        for name in ("systemctl", "journalctl", "launchctl", "tail"):
            (programs / name).write_text(FAKE.format(notes=shlex.quote(str(self.notes))))
            (programs / name).chmod(0o755)
        self.env = {"HOME": str(self.user), "PATH": f"{programs}:/usr/bin:/bin"}

    def service(self, store: str | None = None) -> Service:
        return Service(store, self.env, self.platform)

    def told(self) -> list[str]:
        """What the system was told since the last time."""
        said = self.notes.read_text().splitlines() if self.notes.exists() else []
        self.notes.unlink(missing_ok=True)
        return said


@pytest.fixture(params=["linux", "darwin"])
def system(request: pytest.FixtureRequest, tmp_path: Path) -> System:
    return System(tmp_path, request.param)


def test_a_service_is_installed_once_runs_and_goes_without_a_trace(system: System) -> None:
    service = system.service()
    assert not service.status().installed
    before = {path for path in system.user.rglob("*") if path.is_file()}
    system.told()

    done = service.install()
    assert (done.changed, done.to_type) == (True, ())
    started = system.told()
    path = Path(done.path)
    written = path.read_bytes()
    status = service.status()
    assert (status.installed, status.current, status.running) == (True, True, True)
    assert status.lines == ("10:00:00  watching", "10:00:01  11111111  appended, 4 rounds")

    system.told()
    again = service.install()
    assert (again.changed, path.read_bytes()) == (False, written)
    assert system.told() == started

    done = service.uninstall()
    assert (done.changed, done.to_type) == (True, ())
    assert {path for path in system.user.rglob("*") if path.is_file()} == before
    assert not service.status().running
    assert service.uninstall().changed is False


def test_what_each_system_is_told(tmp_path: Path) -> None:
    for platform in ("linux", "darwin"):
        (tmp_path / platform).mkdir()
    linux, mac = System(tmp_path / "linux", "linux"), System(tmp_path / "darwin", "darwin")
    linux.service().install()
    linux.service().uninstall()
    unit = ["enable muniment.service", "restart muniment.service", "disable --now muniment.service", "daemon-reload"]
    assert linux.told() == [f"systemctl --user {words}" for words in ("daemon-reload", *unit)]
    mac.service().install()
    mac.service().uninstall()
    plist = mac.user / "Library" / "LaunchAgents" / "muniment.watch.plist"
    bootout = f"launchctl bootout {GUI}/muniment.watch"
    assert mac.told() == [bootout, f"launchctl bootstrap {GUI} {plist}", bootout]


def test_where_the_system_cannot_be_told_it_says_what_to_type(system: System) -> None:
    Path(f"{system.notes}.no-bus").touch()
    done = system.service().install()
    assert Path(done.path).exists()
    assert done.note == "Failed to connect to bus"
    wanted = SYSTEMD if system.platform == "linux" else LAUNCHD
    assert done.to_type == tuple(shlex.join(command) for command in wanted.start(Path(done.path)))
    status = system.service().status()
    assert (status.installed, status.running, status.note) == (True, False, "Failed to connect to bus")
    assert system.service().uninstall().changed
    assert not Path(done.path).exists()


def test_where_there_is_no_such_command_it_says_so(system: System) -> None:
    system.env["PATH"] = "/nowhere"
    done = system.service().install()
    assert done.note == f"there is no {'systemctl' if system.platform == 'linux' else 'launchctl'} here"
    assert done.to_type


def test_a_file_of_somebody_else_is_left_alone(system: System) -> None:
    path = system.service().path
    path.parent.mkdir(parents=True)
    path.write_text("[Service]\nExecStart=/usr/bin/true\n")
    for act in (system.service().install, system.service().uninstall):
        with pytest.raises(Conflict):
            act()
    assert path.read_text() == "[Service]\nExecStart=/usr/bin/true\n"
    assert system.service().status().installed is False
    path.unlink()
    path.symlink_to("/dev/null")
    with pytest.raises(Conflict):
        system.service().install()
    assert [words for words in system.told() if "is-active" not in words and "print" not in words] == []


def test_the_wish_to_start_at_login_goes_with_the_unit(tmp_path: Path) -> None:
    system = System(tmp_path, "linux")
    system.service().install()
    Path(f"{system.notes}.no-bus").touch()
    wants = system.service().path.parent / "default.target.wants"
    wants.mkdir()
    (wants / "muniment.service").symlink_to(system.service().path)
    (wants / "other.service").symlink_to("/dev/null")
    system.service().uninstall()
    assert [path.name for path in wants.iterdir()] == ["other.service"]


def test_the_unit_as_systemd_reads_it() -> None:
    job = Job(("/opt/my $tools/py%thon", *RUN[1:]), {"MUNIMENT_STORE": '/data/a "b" 50%\\'}, Path("/log"))
    text = SYSTEMD.text(job).decode()
    assert text.startswith("# Written by `muniment service install`")
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text)
    service = unit["Service"]
    assert service["ExecStart"] == '"/opt/my $$tools/py%%thon" "-P" "-m" "muniment.surfaces.cli.main" "watch"'
    assert service["Environment"] == '"MUNIMENT_STORE=/data/a \\"b\\" 50%%\\\\"'
    assert (service["Restart"], service["KillMode"], service["IOSchedulingClass"]) == ("on-failure", "mixed", "idle")
    assert int(service["Nice"]) > 0
    assert unit["Install"]["WantedBy"] == "default.target"
    with pytest.raises(Unsupported):
        SYSTEMD.text(Job(("/opt/new\nline",), {}, Path("/log")))


def test_the_agent_as_launchd_reads_it() -> None:
    job = Job(RUN, {"MUNIMENT_STORE": "/data/<a> & b"}, Path("/home/ada/Library/Logs/muniment.log"))
    agent = plistlib.loads(LAUNCHD.text(job))
    assert agent["ProgramArguments"] == list(RUN)
    assert agent["EnvironmentVariables"] == {"MUNIMENT_STORE": "/data/<a> & b"}
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert (agent["RunAtLoad"], agent["ProcessType"], agent["LowPriorityIO"]) == (True, "Background", True)
    assert agent["Umask"] == 0o077


def test_it_is_told_where_things_are_and_nothing_else(system: System, tmp_path: Path) -> None:
    system.env |= {
        "CLAUDE_CONFIG_DIR": "/data/claude",
        "CODEX_HOME": "/data/codex",
        "ANTHROPIC_API_KEY": "sk-secret",
        "SECRET": "secret",
    }
    places = {"CLAUDE_CONFIG_DIR": "/data/claude", "CODEX_HOME": "/data/codex"}
    assert system.service().job.env == places
    assert system.service("store").job.env == places | {"MUNIMENT_STORE": str(Path("store").absolute())}
    system.env["MUNIMENT_STORE"] = "/data/archive"
    service = system.service()
    service.install()
    assert service.job.env == places | {"MUNIMENT_STORE": "/data/archive"}
    assert "secret" not in service.path.read_text()


def test_the_unit_lies_where_systemd_looks(tmp_path: Path) -> None:
    system = System(tmp_path, "linux")
    assert system.service().path == system.user / ".config/systemd/user/muniment.service"
    system.env["XDG_CONFIG_HOME"] = "/data/config"
    assert system.service().path == Path("/data/config/systemd/user/muniment.service")


def test_a_system_without_services_is_told_plainly() -> None:
    with pytest.raises(Unsupported, match="win32"):
        Service(None, {"HOME": "/home/ada"}, "win32")


@pytest.mark.skipif(sys.platform != "linux", reason="the command asks this machine's own system")
def test_the_command(tmp_path: Path) -> None:
    system = System(tmp_path, "linux")
    env = {**system.env, **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}}

    def run(word: str) -> tuple[int, list[str]]:
        done = subprocess.run([*CLI, "service", word], env=env, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout.splitlines()

    path = system.service().path
    assert run("status") == (1, [f"not installed: {path}", "not running (inactive)"])
    code, lines = run("install")
    assert (code, lines[:2]) == (0, [f"written: {path}", "started; it starts again at every login"])
    code, lines = run("status")
    assert (code, lines[:3]) == (0, [f"installed: {path}", "running", "  10:00:00  watching"])
    Path(f"{system.notes}.no-bus").touch()
    code, lines = run("install")
    assert code == 1
    assert "  systemctl --user restart muniment.service" in lines
    Path(f"{system.notes}.no-bus").unlink()
    assert run("uninstall") == (0, [f"removed: {path}"])
    assert run("uninstall") == (0, [f"not installed: {path}"])
