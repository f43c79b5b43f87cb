"""Sessions of older versions: many small files, read as one, and every one given back."""

import shutil
from pathlib import Path

import pytest
from tests.conftest import canonical, tree

from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.sources import find_in
from muniment.sources.opencode import SOURCE

from . import homes


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "user" / ".local" / "share" / "opencode"
    homes.storage(folder)
    return folder


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "store", {"HOME": str(tmp_path / "user")})


def inscribe(archive: Archive, *paths: Path) -> list[Outcome]:
    outcomes: list[Outcome] = []
    archive.inscribe(paths, outcomes.append)
    return outcomes


def test_the_files_read_as_their_export_does(home: Path, archive: Archive, tmp_path: Path) -> None:
    other = Archive(tmp_path / "other", {"HOME": "/nowhere"})
    assert [outcome.problems for outcome in [*inscribe(archive), *inscribe(other, homes.EXPORT)]] == [(), ()]
    ours, theirs = (canonical(store.layout.sessions) for store in (archive, other))
    rounds = [name for name in ours if "/rounds/" in name]
    assert len(rounds) == 2
    assert [ours[name] for name in rounds] == [theirs[name] for name in rounds]


def test_every_file_comes_back_and_no_other(home: Path, archive: Archive) -> None:
    before = tree(home)
    inscribe(archive)
    shutil.rmtree(home)
    archive.restore(archive.sessions()[0].session_id)
    assert tree(home) == before


def test_the_size_of_the_whole_is_known_before_it_is_read(home: Path) -> None:
    (session,) = SOURCE.gather(SOURCE.candidates(home), home, [home])
    main = session.main
    assert main is not None
    assert main.size == len(b"".join(SOURCE.content(main)))
    assert len(session.files) == 1 + len(tree(home))


def test_a_new_part_goes_into_what_is_there(home: Path, archive: Archive) -> None:
    inscribe(archive)
    assert inscribe(archive) == []
    message = homes.DOCUMENT["messages"][-1]["info"]["id"]
    later = home / "storage" / "part" / message / "prt_zz.json"
    later.write_text('{"id":"prt_zz","type":"text","text":"Sleep well."}')
    (outcome,) = inscribe(archive)
    assert (outcome.what, outcome.problems) == ("appended", ())
    assert inscribe(archive) == []


def test_a_file_that_cannot_be_read_damages_its_message_only(home: Path, archive: Archive) -> None:
    path = next((home / "storage" / "part").rglob("*.json"))
    path.write_bytes(path.read_bytes()[:-5])
    (outcome,) = inscribe(archive)
    assert len(outcome.problems) == 1
    assert outcome.rounds >= 1


def test_a_session_is_found_by_its_own_file(home: Path) -> None:
    path = next((home / "storage" / "session").rglob("*.json"))
    (session,) = find_in(path, {"HOME": "/nowhere"})
    assert session.native_id == homes.NATIVE
    assert not session.home
