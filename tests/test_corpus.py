"""Every real session beside the project: restored exactly, converted without loss, grown without drift."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from muniment import check
from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.sources import all_sources
from tests.conftest import canonical, tree

pytestmark = pytest.mark.corpus
FOLDERS = [*(source.name for source in all_sources()), "growth"]


@pytest.fixture(params=FOLDERS)
def folder(corpus: Path, request: pytest.FixtureRequest) -> Path:
    if not (corpus / request.param).is_dir():
        pytest.skip(f"no real sessions of {request.param} in the corpus")
    return corpus / request.param


def test_inscribe_delete_restore_gives_the_same_tree(folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(folder, source)
    before = tree(source)
    archive = Archive(tmp_path / "store", {"HOME": str(tmp_path)})
    outcomes: list[Outcome] = []
    archive.inscribe([source], outcomes.append)
    assert [o.note for o in outcomes if o.what == "failed"] == []
    assert archive.plan(archive.find([source])).tasks == ()
    shutil.rmtree(source)
    for session in archive.sessions():
        archive.restore(session.session_id)
    after = tree(source)
    assert sorted(after) == sorted(before)
    assert after == before


def test_check_finds_no_loss(folder: Path) -> None:
    archive = Archive(folder / "no-store")
    reports = list(archive.check([folder]))
    assert [report.path for report in reports if not report.lossless] == []
    whole = check.total(reports)
    assert whole.export["text"].equal > 0
    assert whole.document["tool output"].equal > 0


def test_growing_snapshot_by_snapshot_gives_what_the_last_alone_gives(corpus: Path, tmp_path: Path) -> None:
    """Only the added bytes are read; a snapshot that does not extend the former one is kept as a version."""
    compared = 0
    for series in sorted((corpus / "growth").glob("*/*")):
        folder = tmp_path / series.name
        (folder / "live").mkdir(parents=True)
        growing, alone = Archive(folder / "growing", {"HOME": "/x"}), Archive(folder / "alone", {"HOME": "/x"})
        former = b""
        extends = True
        for snapshot in sorted(series.glob("*.jsonl")):
            data = snapshot.read_bytes()
            extends = extends and data.startswith(former)
            (folder / "live" / "x.jsonl").write_bytes(data)
            outcomes: list[Outcome] = []
            growing.inscribe([folder / "live"], outcomes.append)
            if extends:
                assert outcomes[0].bytes_read == len(data) - len(former)
            former = data
        alone.inscribe([folder / "live"])
        if extends:
            assert canonical(growing.layout.sessions) == canonical(alone.layout.sessions)
            compared += 1
        else:
            assert growing.sessions()[0].versions > 0
    assert compared >= 4
