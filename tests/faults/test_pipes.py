"""A pipe in place of a file of the archive: no command waits for somebody to write into it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .world import done, run, small

FILES = ["claude/*/source/manifest.json", "claude/*/source/*.zst", "claude/*/rounds/001.json", "claude/*.md",
         "claude/*/session.db", "claude/*/index.md", "claude/index.md", "index.md", "edits.jsonl", "sessions.db",
         "engagements.jsonl", "../agent-roster.jsonl"]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_nothing_waits_for_a_pipe(tmp_path: Path, name: str) -> None:
    tree = small(tmp_path / "home", 2)
    store, env = tmp_path / "store", {"CLAUDE_CONFIG_DIR": str(tree.home)}
    done(store, "up", env=env)
    done(store, "roster", "add", tree.sessions[1].id, "--name", "Reed", env=env)
    done(store, "tag", tree.sessions[1].id, "1", "x", env=env)
    path = sorted((store / "data" / "sessions").glob(name))[0]
    path.unlink()
    os.mkfifo(path)
    tree.grow()
    for words in (("check", "--stored"), ("doctor",), ("sessions",), ("inscribe",)):
        try:
            ran = run(store, *words, env=env, timeout=60)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{words} waits")
        assert "Traceback" not in ran.err, ran
