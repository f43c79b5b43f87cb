"""Fixtures: the installed clients, the model server, and recorded sessions.

`$MUNIMENT_CLIENTS` names the folder with the clients' `node_modules`; `make clients` installs them and sets the
variable. Without it all is skipped, so that a quick run of the tests stays quick on a machine that has the clients;
and what needs a client that is not in the folder is skipped with a word.
"""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .archive import Archive
from .cases import CASES
from .claude import Claude
from .client import Client, Run
from .kinds import Kind
from .model_server import ModelServer
from .others import Codex, Copilot, Gemini, OpenCode, Pi
from .terminal import typed
from .work import Work, do_work

CLIENTS: dict[str, type[Client]] = {client.name: client for client in (Claude, Codex, Pi, OpenCode, Gemini, Copilot)}

RETENTION_S = 30 * 24 * 3600


@dataclass(frozen=True)
class Recorded:
    """A session on the client's disk, and what its untouched original told the model when it was resumed."""

    claude: Claude
    session_id: str
    original: Run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder, so that `-m "not client"` leaves the minutes they take out of a quick run."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker("client")


def program_of(agent: str) -> Path:
    """The program of a client; skips where it is not asked for or not there."""
    folder = os.environ.get("MUNIMENT_CLIENTS")
    if not folder:
        pytest.skip("needs a real client: run `make clients`")
    program = Path(folder).absolute() / "node_modules" / ".bin" / CLIENTS[agent].program_name
    if not program.exists():
        pytest.skip(f"{agent} is not installed in {folder}: run `make clients`")
    return program


@pytest.fixture(scope="session")
def model() -> Iterator[ModelServer]:
    server = ModelServer()
    yield server
    server.close()


@pytest.fixture(scope="session", params=[*CASES, "typed"])
def recording(request: pytest.FixtureRequest, model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A session of one kind, recorded once."""
    name: str = request.param
    if name == "typed" and not shutil.which("tmux"):
        pytest.skip("tmux is not installed, and only a terminal can type")
    claude = Claude(program_of("claude-code"), tmp_path_factory.mktemp(name), model)
    session_id = (CASES | {"typed": typed})[name](claude)
    claude.keep()
    return Recorded(claude, session_id, original=claude.resume(session_id))


@pytest.fixture
def recorded(recording: Recorded) -> Recorded:
    """The recorded session as it was before any test, in files that the client's clean-up would soon erase."""
    recording.claude.reset()
    make_old(recording.claude.config)
    return recording


class Clients:
    """Makes clients, and has each of them do the same work once."""

    def __init__(self, model: ModelServer, folders: pytest.TempPathFactory) -> None:
        self._model, self._folders = model, folders
        self._works: dict[tuple[str, Kind], Work] = {}

    def fresh(self, agent: str) -> Client:
        """A client that has done nothing yet."""
        return CLIENTS[agent](program_of(agent), self._folders.mktemp(agent), self._model)

    def at_work(self, agent: str) -> Work:
        """The recorded work of a client, as it was before any test."""
        return self.recorded(agent, do_work)

    def recorded(self, agent: str, kind: Kind) -> Work:
        """A session of a kind, recorded once, as it was before any test."""
        if (agent, kind) not in self._works:
            client = self.fresh(agent)
            session_id = kind(client)
            client.keep()
            self._works[agent, kind] = Work(client, session_id, original=client.resume(session_id))
        work = self._works[agent, kind]
        work.client.reset()
        return work


@pytest.fixture(scope="session")
def clients(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Clients:
    return Clients(model, tmp_path_factory)


@pytest.fixture
def archive(recorded: Recorded, tmp_path: Path) -> Archive:
    """A fresh store that holds the recorded session, which is then gone from the client's disk."""
    archive = Archive(tmp_path / "store", recorded.claude.home)
    archive.inscribe()
    recorded.claude.delete_session(recorded.session_id)
    return archive


def make_old(folder: Path) -> None:
    """Set the times of all files to just before the client's retention limit."""
    old = time.time() - RETENTION_S + 3600
    for path in folder.rglob("*"):
        os.utime(path, (old, old))
