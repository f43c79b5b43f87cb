"""The archive that most tests look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.inscribe import Outcome
from tests.context.past import archived, worked_on


@pytest.fixture
def site(archive: Archive, inscribe: Callable[..., list[Outcome]], home: Path) -> Archive:
    archived(archive, home, worked_on(), inscribe)
    return archive
