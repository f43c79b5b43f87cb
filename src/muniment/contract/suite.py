"""The suite: every law against every sample. Run it by its name, or import it into a test module of your own.

A test module that imports it says in `SUBJECTS` what is tested."""

from __future__ import annotations

import pytest

from muniment.contract import plugin
from muniment.contract.finding import *  # noqa: F403
from muniment.contract.keeping import *  # noqa: F403
from muniment.contract.reading import *  # noqa: F403
from muniment.contract.writing import *  # noqa: F403


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    plugin.parametrize(metafunc)
