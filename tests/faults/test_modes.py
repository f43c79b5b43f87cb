"""Nobody but the owner can read the archive, or what it gives back, however careless the umask."""

from __future__ import annotations

from pathlib import Path

import pytest

from .checks import wrong_modes
from .world import done, large, small


@pytest.mark.parametrize("make", [small, large])
def test_private_after_every_command(tmp_path: Path, make) -> None:
    tree = make(tmp_path / "home")
    store, out = tmp_path / "store", tmp_path / "out"
    session = tree.sessions[1].id

    def then(*words: object) -> None:
        done(store, *words, umask=0)
        assert wrong_modes(store) == [], words
        assert not out.exists() or wrong_modes(out) == [], words

    then("inscribe", tree.home)
    tree.grow()
    then("append")
    path = tree.transcript(2)
    path.write_bytes(path.read_bytes().replace(b"lighthouse", b"watchtower"))
    then("inscribe", tree.home)
    then("restore", "--all", "--to", out / "restored")
    then("restore", session, "--new-id", "--cwd", tmp_path, "--to", out / "moved")
    then("export-claude", session, "--into", out / "claude")
    then("export-claude", session, "-o", out / "one" / "file.jsonl")
    then("export", session, "--to", "codex", "--into", out / "codex")
    then("reindex")
    then("check", "--stored")
    then("sessions")
    then("forget", session, "--yes")
