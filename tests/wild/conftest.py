"""A machine with agents and an archive, and a project in which a harness records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.record import close_all

from .scenes import Machine


@pytest.fixture
def machine(archive: Archive, home: Path) -> Machine:
    return Machine(archive, home)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project folder, with a recorder's home of its own beside it."""
    monkeypatch.setenv("MUNIMENT_RECORDER", str(tmp_path / "recorder"))
    folder = tmp_path / "proj" / "shop"
    folder.mkdir(parents=True)
    yield folder
    close_all()


@pytest.fixture
def careless() -> Iterator[None]:
    """A umask that hides nothing from anybody."""
    before = os.umask(0)
    yield
    os.umask(before)
