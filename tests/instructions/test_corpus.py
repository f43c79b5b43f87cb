"""The real sessions: every text of instructions that a plain scan finds in a transcript is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muniment.archive import Archive

pytestmark = pytest.mark.corpus


def test_what_transcripts_record_is_told(corpus: Path, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "store", {"HOME": "/home/ada"})
    archive.inscribe([corpus / "claude-code", corpus / "codex"])
    told = {(s.session_id, one.path) for s in archive.sessions() for one in archive.instructions(s.session_id).files}
    wanted: set[tuple[str, str]] = set()
    for path in (path for name in ("claude-code", "codex") for path in (corpus / name).rglob("*") if path.is_file()):
        thread = ""
        for raw in path.read_bytes().split(b"\n"):
            if b'"nested_memory"' in raw:
                record = json.loads(raw)
                if isinstance(record.get("attachment"), dict) and record["attachment"].get("type") == "nested_memory":
                    wanted.add((record["sessionId"], record["attachment"]["path"]))
            elif b'"session_meta"' in raw[:100]:
                thread = thread or json.loads(raw)["payload"]["id"]
            elif b'"turn_context"' in raw[:100]:
                payload = json.loads(raw)["payload"]
                if payload.get("user_instructions"):
                    wanted.add((thread, f"{payload['cwd']}/AGENTS.md"))
    assert len(wanted) > 30
    assert wanted - told == set()
