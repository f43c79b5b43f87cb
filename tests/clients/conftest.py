"""Fixtures: the installed client, the model server, and one recorded session of each kind.

`$MUNIMENT_CLIENTS` names the folder with the client's `node_modules`; `make clients` installs it and sets the variable.
Without the variable all is skipped, so that a quick run of the tests stays quick on a machine that has the client.
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
from .claude import Claude, Run
from .model_server import ModelServer
from .terminal import typed

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


@pytest.fixture(scope="session")
def program() -> Path:
    """The client's program; skips where it is not asked for."""
    folder = os.environ.get("MUNIMENT_CLIENTS")
    if not folder:
        pytest.skip("needs a real client: run `make clients`")
    program = Path(folder).absolute() / "node_modules" / ".bin" / "claude"
    assert program.exists(), f"Claude Code is not installed: {program}"
    return program


@pytest.fixture(scope="session")
def model() -> Iterator[ModelServer]:
    server = ModelServer()
    yield server
    server.close()


@pytest.fixture(scope="session", params=[*CASES, "typed"])
def recording(
    request: pytest.FixtureRequest, program: Path, model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Recorded:
    """A session of one kind, recorded once."""
    name: str = request.param
    if name == "typed" and not shutil.which("tmux"):
        pytest.skip("tmux is not installed, and only a terminal can type")
    claude = Claude(program, tmp_path_factory.mktemp(name), model)
    session_id = (CASES | {"typed": typed})[name](claude)
    claude.keep()
    return Recorded(claude, session_id, original=claude.resume(session_id))


@pytest.fixture
def recorded(recording: Recorded) -> Recorded:
    """The recorded session as it was before any test, in files that the client's clean-up would soon erase."""
    recording.claude.reset()
    make_old(recording.claude.config)
    return recording


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
