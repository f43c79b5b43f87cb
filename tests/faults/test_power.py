"""The power goes while an archive is written: what was acknowledged comes back, though its source is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.record.conformance.plugin import Counts
from muniment.record.conformance.processes import Unavailable

from .power import power_cuts

SOME = 120
"""Cuts within which each of these mistakes must show."""
DISKS = ["ext4", "xfs"]

NO_SYNC_BEFORE_THE_COMMIT = """
from muniment import files
class Nothing:
    def __init__(self, folder): ...
    def is_alive(self): return False
    def wait(self): ...
files.Syncing = Nothing
"""
INDEX_NOT_SYNCED = """
from muniment.store import connection
strict = connection.to_write
def loose(path):
    db = strict(path)
    db.execute("PRAGMA synchronous=OFF")
    return db
connection.to_write = loose
"""
EDITS_NOT_SYNCED = """
import os
from muniment.store import edits
class Loose:
    def __getattr__(self, name):
        return (lambda _: None) if name == "fsync" else getattr(os, name)
edits.os = Loose()
"""
REINDEX_NOT_SYNCED = """
from muniment import files, reindex
class Loose:
    def __getattr__(self, name):
        return (lambda _: None) if name == "sync" else getattr(files, name)
reindex.files = Loose()
"""
APPEND_NOT_SYNCED = """
from muniment import files
from muniment.store import evidence
files.write_durable = files.write_atomic
evidence.Appender._close = lambda self, out: out.close()
"""


def cut(folder: Path, kind: str, cuts: int, seed: int, *how: str) -> list[str]:
    try:
        return power_cuts(folder, kind, cuts, seed, *how)
    except Unavailable as why:
        pytest.skip(str(why))


@pytest.mark.parametrize("kind", DISKS)
def test_what_was_acknowledged_survives(tmp_path: Path, kind: str, counts: Counts) -> None:
    assert cut(tmp_path, kind, counts.cuts, counts.seed) == []


@pytest.mark.parametrize(
    ("steps", "mistake"),
    [
        pytest.param("inscribe", NO_SYNC_BEFORE_THE_COMMIT, id="no sync before the index commits"),
        pytest.param("inscribe", INDEX_NOT_SYNCED, id="synchronous=OFF"),
        pytest.param("fork", EDITS_NOT_SYNCED, id="no fsync of edits.jsonl"),
        pytest.param("repair", REINDEX_NOT_SYNCED, id="no sync after reindex"),
        pytest.param("grow", APPEND_NOT_SYNCED, id="frames and manifest of an append not synced"),
    ],
)
def test_a_forgotten_sync_is_noticed(tmp_path: Path, steps: str, mistake: str) -> None:
    assert cut(tmp_path, "ext4", SOME, 1, steps, mistake)
