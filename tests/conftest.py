"""What most tests need: an archive of their own, a home of their own, and a way to see what changed on disk."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

from muniment.archive import Archive
from muniment.inscribe import Outcome

Tree = dict[str, bytes]

# A property holds on a busy machine too.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An agent's home, `.claude`, in a folder that stands for the user's."""
    folder = tmp_path / "user" / ".claude"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def archive(tmp_path: Path, home: Path) -> Archive:
    """An empty archive whose agents live in `home`'s user folder."""
    return Archive(tmp_path / "store", {"HOME": str(home.parent)})


@pytest.fixture
def inscribe(archive: Archive) -> Callable[..., list[Outcome]]:
    """Inscribe paths, or everything in the home, and give the outcomes."""

    def run(*paths: Path, into: Archive | None = None) -> list[Outcome]:
        outcomes: list[Outcome] = []
        (into or archive).inscribe(paths, outcomes.append)
        return outcomes

    return run


def tree(root: Path) -> Tree:
    """Every file below a folder with its bytes."""
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def canonical(root: Path) -> Tree:
    """Documents and rounds of a store: what must not depend on how they came to be."""
    return {n: d for n, d in tree(root).items() if n.endswith((".md", ".json")) and "/source/" not in n}


def read_all(descriptor: int) -> bytes:
    """What was written to a terminal until its last writer left it."""
    pieces: list[bytes] = []
    try:
        while piece := os.read(descriptor, 4096):
            pieces.append(piece)
    except OSError:  # how Linux says that nobody is there any more
        pass
    finally:
        os.close(descriptor)
    return b"".join(pieces)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """An interruption is an exception, also where whoever started the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def build_hook() -> ModuleType:
    """What builds the page and the C module, which is not part of the package."""
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", Path(__file__).parents[1] / "hatch_build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real sessions beside the project, unpacked."""
    unpack = Path(__file__).parents[2] / "shared" / "corpus" / "unpack"
    if not unpack.exists():
        pytest.skip("the real sessions are not beside the project (../shared/corpus)")
    folder = tmp_path_factory.mktemp("corpus")
    subprocess.run([str(unpack), str(folder)], check=True)
    return folder
