"""The fixtures of the conformance kit, without having to name it on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.record.conformance.plugin import counts, nursery

__all__ = ["counts", "nursery", "path", "subject"]


@pytest.fixture(scope="session")
def subject() -> str:
    return "tests.record.faults.subjects:Ours"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"
