"""The real Claude Code asks the server, offline: what its model would see, and whose session it records."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment.archive import Archive
from muniment.prospective import folder
from tests.builder import conversation
from tests.clients.claude import Claude
from tests.clients.model_server import ModelServer, Turn, says
from tests.clients.wires import call_block

pytestmark = pytest.mark.client
TOOLS = {f"mcp__muniment__{name}" for name in ("search", "read", "context", "record_engagement")}


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[Claude]:
    clients = os.environ.get("MUNIMENT_CLIENTS")
    if not clients:
        pytest.skip("needs a real client: run `make clients`")
    server = ModelServer()
    yield Claude(Path(clients).absolute() / "node_modules" / ".bin" / "claude", tmp_path / "client", server)
    server.close()


def results(requests: list[dict[str, Any]]) -> list[str]:
    """What came back from tools, as the model was told in the last request."""
    parts = [part for m in requests[-1]["messages"] if isinstance(m["content"], list) for part in m["content"]]
    return [json.dumps(part["content"]) for part in parts if part["type"] == "tool_result"]


def test_claude_code_searches_and_records(claude: Claude, home: Path, archive: Archive, tmp_path: Path) -> None:
    past = conversation(4, cwd="/proj")
    past.user("The login page is broken.")
    past.write(home)
    archive.inscribe()
    archive.ingest()
    code = f"from muniment.surfaces.cli.main import main; main(['--store', {str(archive.layout.root)!r}, 'mcp'])"
    claude.run("mcp", "add", "--scope", "user", "muniment", "--", sys.executable, "-c", code)
    assert "Connected" in claude.run("mcp", "list").output
    begin = {"action": "start", "text": "Mend the login page", "method": "debug"}
    answers = (
        Turn((call_block("mcp__muniment__search", query="login page"),)),
        Turn((call_block("mcp__muniment__record_engagement", **begin),)),
        says("done"),
    )
    allowed = "mcp__muniment__search,mcp__muniment__record_engagement"
    run = claude.ask("look it up", "--allowedTools", allowed, answers=answers)
    assert [name for name in TOOLS if name not in json.dumps(run.requests)] == [], "the client announces them"
    found, recorded = results(run.requests)
    assert past.id in found
    assert "login page" in found
    assert "instruction" in found
    assert "is started" in recorded
    (told,) = folder.every(claude.project / ".engagements")
    assert told.record
    assert told.record.topic == "Mend the login page"
    assert told.record.session_id == run.session_id
