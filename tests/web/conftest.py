"""One archive and one viewer for all tests that only look; the others start their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.archive import Archive
from tests.web.served import Viewer, fill, viewing


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """An archive that no test changes."""
    folder = tmp_path_factory.mktemp("shown")
    home = folder / "user" / ".claude"
    home.mkdir(parents=True)
    archive = Archive(folder / "store", {"HOME": str(home.parent)})
    fill(archive, home)
    return archive


@pytest.fixture(scope="session")
def viewer(shown: Archive) -> Iterator[Viewer]:
    """A viewer of it."""
    with viewing(shown) as running:
        yield running


@pytest.fixture
def filled(archive: Archive, home: Path) -> Archive:
    """An archive of a test's own, with the same sessions."""
    fill(archive, home)
    return archive
