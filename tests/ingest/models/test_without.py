"""A machine without the SDK."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from muniment import config

PROGRAM = """
import sys
sys.modules["anthropic"] = None
from muniment.errors import MunimentError
from muniment.ingest.models import Settings, estimate, extract_all
from tests.ingest.models.conftest import fallback, session
settings = Settings("anthropic", "claude-sonnet-5-5")
print(estimate([session()], settings, {}).sessions)
try:
    list(extract_all([session()], settings, {"ANTHROPIC_API_KEY": "sk-x"}, fallback))
except MunimentError as error:
    print(error.hint)
"""


def test_the_sdk_is_needed_only_for_a_call_and_its_absence_is_told() -> None:
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["1", config.installing("llm")]


def test_importing_the_package_does_not_import_the_sdk() -> None:
    program = "import sys, muniment.ingest.models; print('anthropic' in sys.modules, 'httpx2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_an_extra_is_installed_where_the_program_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/a clone/.venv/bin/python")
    monkeypatch.setattr(config, "has_pip", lambda: True)
    assert config.installing("mcp") == "'/a clone/.venv/bin/python' -m pip install 'muniment[mcp]'"
    monkeypatch.setattr(config, "has_pip", lambda: False)  # as in an environment that uv made
    assert config.installing("mcp") == "uv pip install --python '/a clone/.venv/bin/python' 'muniment[mcp]'"
