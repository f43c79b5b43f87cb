"""Damage in the archive: it is noticed, mended from the source where that has it, and never dropped from sight."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.archive import Archive
from muniment.errors import Damaged, StoreError
from muniment.inscribe import Outcome
from muniment.restore import Target
from muniment.search import Query
from muniment.store import evidence
from muniment.store.layout import Shelf
from tests.builder import ClaudeSession, conversation
from tests.conftest import canonical

Inscribe = Callable[..., list[Outcome]]


@pytest.fixture
def session(archive: Archive, inscribe: Inscribe, home: Path) -> ClaudeSession:
    made = conversation(3)
    made.write(home)
    inscribe()
    return made


@pytest.fixture
def shelf(archive: Archive, session: ClaudeSession) -> Shelf:
    return archive.shelf(archive.session(session.id))


def flip(path: Path, at: float = 0.5) -> None:
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 1
    path.write_bytes(data)


def packed(shelf: Shelf) -> Path:
    manifest = evidence.load(shelf.evidence)
    assert manifest
    assert manifest.main
    return evidence.packed_path(shelf.evidence, manifest.main)


def is_whole(archive: Archive) -> bool:
    return not any(one.note or one.problems for one in archive.check_stored())


def restored(archive: Archive, name: str, into: Path) -> list[bytes]:
    archive.restore(name, Target(to=into))
    return [path.read_bytes() for path in into.rglob("*.jsonl") if path.stem == name]


def test_a_flipped_bit_is_mended_from_the_source(
    archive: Archive, inscribe: Inscribe, session: ClaudeSession, shelf: Shelf, tmp_path: Path
) -> None:
    expected = canonical(archive.layout.root)
    flip(packed(shelf))
    assert not is_whole(archive)
    diagnosis = archive.doctor()
    assert not diagnosis.healthy
    assert [one.path for one in diagnosis.damage] == [str(packed(shelf))]
    assert [outcome.what for outcome in inscribe()] == ["healed"]
    assert is_whole(archive)
    assert archive.doctor().healthy
    assert canonical(archive.layout.root) == expected
    assert restored(archive, session.id, tmp_path / "back") == [session.data]
    assert inscribe() == []


def test_a_damaged_session_that_grew_is_mended_and_appended_to(
    archive: Archive, inscribe: Inscribe, session: ClaudeSession, shelf: Shelf, home: Path, tmp_path: Path
) -> None:
    flip(packed(shelf))
    session.exchange("more", "done")
    session.write(home)
    assert [outcome.what for outcome in inscribe()] == ["healed", "appended"]
    assert is_whole(archive)
    assert restored(archive, session.id, tmp_path / "back") == [session.data]


@pytest.mark.parametrize("again", ["reindex", "inscribe"])
def test_damage_that_no_source_can_mend_stays_in_sight(
    archive: Archive, inscribe: Inscribe, session: ClaudeSession, shelf: Shelf, home: Path, again: str
) -> None:
    session.write(home).unlink()
    flip(packed(shelf))
    where = packed(shelf)
    assert not is_whole(archive)
    if again == "reindex":
        archive.reindex()
    else:
        assert [outcome.what for outcome in inscribe()] == ["damaged"]
        assert inscribe() == []
    (listed,) = archive.sessions()
    assert listed.rounds == 3
    assert archive.search(Query("reply"))
    assert [one.path for one in archive.damage(listed)] == [str(where)]
    assert not archive.doctor().healthy
    assert [round_.number for round_ in archive.rounds(listed)] == [1, 2, 3]
    assert not is_whole(archive)


def test_other_content_in_place_of_a_damaged_session_is_kept_beside_it(
    archive: Archive, inscribe: Inscribe, session: ClaudeSession, shelf: Shelf, home: Path, tmp_path: Path
) -> None:
    flip(packed(shelf))
    path = session.write(home)
    path.write_bytes(conversation(5, session.id).data.replace(b"reply", b"words"))
    outcomes = inscribe()
    assert "failed" not in [outcome.what for outcome in outcomes]
    (listed,) = archive.sessions()
    assert listed.rounds == 5
    assert len(archive.versions(listed)) == 1
    assert {one.version for one in archive.damage(listed)} == set(archive.versions(listed))
    archive.reindex()
    assert len(archive.versions(archive.sessions()[0])) == 1
    assert path.read_bytes() in restored(archive, session.id, tmp_path / "back")


@pytest.mark.parametrize("lose", [Path.unlink, flip, lambda path: path.write_bytes(b"")])
@pytest.mark.parametrize("gone", [False, True])
def test_a_manifest_comes_back_from_the_index(
    archive: Archive,
    inscribe: Inscribe,
    session: ClaudeSession,
    shelf: Shelf,
    home: Path,
    lose: Callable[[Path], None],
    gone: bool,
) -> None:
    before = evidence.load(shelf.evidence)
    if gone:
        session.write(home).unlink()
    lose(shelf.evidence / evidence.MANIFEST)
    assert not is_whole(archive)
    assert [outcome.what for outcome in inscribe()] == ["healed"]
    assert evidence.load(shelf.evidence) == before
    assert is_whole(archive)


def test_lost_evidence_is_noticed_without_a_check(archive: Archive, inscribe: Inscribe, shelf: Shelf) -> None:
    packed(shelf).unlink()
    assert not archive.doctor().healthy
    assert [outcome.what for outcome in inscribe()] == ["healed"]
    assert is_whole(archive)


def test_an_append_does_not_hide_that_the_frames_before_are_gone(
    archive: Archive, inscribe: Inscribe, session: ClaudeSession, shelf: Shelf, home: Path
) -> None:
    packed(shelf).write_bytes(b"")
    session.exchange("more", "done")
    session.write(home)
    assert "appended" in [outcome.what for outcome in inscribe()]
    assert is_whole(archive)


@pytest.mark.parametrize("name", ["rounds/002.json", "session.db", "index.md", "../{id}.md", "source/{id}.jsonl.zst"])
def test_a_folder_in_place_of_a_file_is_put_away(
    archive: Archive, inscribe: Inscribe, session: ClaudeSession, shelf: Shelf, name: str
) -> None:
    path = shelf.folder / name.format(id=session.id)
    path.unlink()
    path.mkdir()
    assert not is_whole(archive)
    assert [outcome.what for outcome in inscribe()] == ["healed"]
    assert is_whole(archive)


def test_every_flipped_bit_of_a_manifest_is_noticed(shelf: Shelf) -> None:
    path = shelf.evidence / evidence.MANIFEST
    data = path.read_bytes()
    noise = random.Random(7)
    for _ in range(400):
        at = noise.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << noise.randrange(8)]) + data[at + 1 :])
        with pytest.raises((Damaged, StoreError)):
            evidence.load(shelf.evidence)


def test_a_manifest_of_an_older_version_is_read(shelf: Shelf) -> None:
    path = shelf.evidence / evidence.MANIFEST
    known = evidence.load(shelf.evidence)
    head, _, _ = path.read_bytes().rpartition(b',"sha256":')
    path.write_bytes(head + b"}")
    assert evidence.load(shelf.evidence) == known


@pytest.mark.parametrize("name", ["tool-results/t1.txt", "subagents/agent-a1.jsonl"])
def test_a_lost_file_whose_source_was_rewritten_does_not_end_the_archiving(
    archive: Archive, inscribe: Inscribe, home: Path, name: str
) -> None:
    session = conversation(2)
    beside = session.write(home).with_suffix("") / name
    beside.parent.mkdir(parents=True)
    side = conversation(1, session.id, cwd="/side").data.replace(b'"isSidechain":false', b'"isSidechain":true')
    beside.write_bytes(side)
    inscribe()
    shelf = archive.shelf(archive.session(session.id))
    next(path for path in shelf.evidence.glob("*.zst") if path.name.startswith(beside.stem)).unlink()
    beside.write_bytes(side.replace(b"reply", b"other"))
    session.exchange("and now?", "done")
    session.write(home)
    inscribe()
    assert archive.session(session.id).rounds == 3
    assert not archive.doctor().not_inscribed
