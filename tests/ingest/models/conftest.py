"""The server process that the tests of models talk to, and sessions to talk about."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment.ingest.models import Settings
from muniment.ingest.skeleton import Skeleton, Turn
from muniment.model import Facts
from muniment.model.engagements import Engagement, Extraction

KEY = "sk-ant-canary-0123456789-never-to-be-seen"


class Api:
    """The server, as a test sees it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def script(self, *steps: dict[str, Any], batch: dict[str, Any] | None = None, keep: bool = False) -> None:
        """What it is to answer from now on; forgets what it was asked, and its batches unless told to `keep` them."""
        self._call({"steps": list(steps), "batch": batch, "keep": keep})

    def seen(self, path: str = "") -> list[dict[str, Any]]:
        """What it was asked."""
        return [request for request in self._call(None) if path in ("", request["path"])]

    def _call(self, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(f"{self.url}/control", data), timeout=60) as response:
            return json.load(response)


@pytest.fixture(scope="session")
def _server() -> Iterator[Api]:
    program = [sys.executable, str(Path(__file__).with_name("server.py"))]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield Api(int(process.stdout.readline()))
        process.communicate()  # the end of its input ends it


@pytest.fixture
def api(_server: Api, monkeypatch: pytest.MonkeyPatch) -> Api:
    """The server with an empty script: it answers every question well."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    _server.script()
    return _server


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment with a key that must not be seen anywhere."""
    return {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY, "HOME": str(tmp_path / "home")}


@pytest.fixture
def settings(api: Api, tmp_path: Path) -> Settings:
    return Settings(
        "anthropic", "claude-sonnet-5-5", url=api.url, timeout=60, retries=2, poll=0.01, cache=tmp_path / "kept"
    )


def session(number: int = 1, *, turns: int = 3, said: str = "Build the parser.") -> Skeleton:
    """A session; another number is another session."""
    id_ = f"{number:08d}-0000-4000-8000-000000000000"
    spoken = tuple(Turn(number=n, user=f"{said} {n}", assistant=f"Done with {n}.") for n in range(1, turns + 1))
    return Skeleton(Facts(session_id=id_, source="claude-code", cwd="/proj/import"), "ada", spoken)


def fallback(skeleton: Skeleton) -> Extraction:
    """What stands for the offline extractor."""
    turns = ((1, max(1, len(skeleton.turns))),)
    work = Engagement(topic="What the rules say", method="build", phase="completed", turn_ranges=turns)
    return Extraction(engagements=(work,), session_summary="By the rules.", extractor="offline:1")
