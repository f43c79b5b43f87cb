"""A session that is new is put together where nobody looks, and then seen as a whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muniment import files
from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.store.layout import Shelf
from tests.builder import conversation
from tests.conftest import canonical, tree

SESSION = conversation(3)
FILES = 8
"""That are written for it: three rounds, the document, the database, the listing, its bytes and their manifest."""


class Killed(BaseException):
    """The process ends here."""


def counted(call: Callable[..., None], ends: Callable[[int], None]) -> Callable[..., None]:
    """A function that is told how often it was called before it is called."""
    number = 0

    def called(*values: Any) -> None:
        nonlocal number
        number += 1
        ends(number)
        call(*values)

    return called


def seen(archive: Archive) -> list[str]:
    """Every file below the sessions that is one of a session."""
    return [name for name in tree(archive.layout.sessions) if SESSION.id in name]


@pytest.fixture
def whole(tmp_path: Path, home: Path) -> dict[str, bytes]:
    SESSION.write(home)
    archive = Archive(tmp_path / "whole", {"HOME": str(tmp_path / "nobody")})
    archive.inscribe([home])
    return canonical(archive.layout.sessions)


def test_nothing_of_it_is_seen_before_it_is_whole(
    archive: Archive, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SESSION.write(home)
    before: list[list[str]] = []
    noted = counted(files.write_unseen, lambda _: before.append(seen(archive)))
    monkeypatch.setattr(files, "write_unseen", noted)
    archive.inscribe([home])
    assert before == [[]] * FILES
    assert len(seen(archive)) == FILES
    assert not archive.layout.unseen.exists()


@pytest.mark.parametrize("number", range(1, FILES + 1))
def test_a_killed_run_shows_nothing_and_the_next_one_all(
    archive: Archive, home: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def ends(now: int) -> None:
        if now == number:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(files, "write_unseen", counted(files.write_unseen, ends))
        patched.setattr("muniment.batch.shutil.rmtree", lambda *_, **__: None)  # killed: nothing is tidied up
        with pytest.raises(Killed):
            archive.inscribe([home])
    assert archive.layout.unseen.exists()
    assert seen(archive) == []
    archive.inscribe([home])
    assert canonical(archive.layout.sessions) == whole
    assert not archive.layout.unseen.exists()


def test_killed_between_the_folder_and_its_document(
    archive: Archive, home: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def halfway(self: Shelf, to: Shelf) -> None:
        files.make_folder(to.folder.parent)
        self.folder.rename(to.folder)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Shelf, "become", halfway)
        with pytest.raises(Killed):
            archive.inscribe([home])
    assert any("/source/" in name for name in seen(archive)), "the evidence goes first"
    archive.inscribe([home])
    assert canonical(archive.layout.sessions) == whole


def test_a_session_that_failed_leaves_nothing_to_the_next_copy_of_it(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files of one id in one run: rounds of the first, longer one must not show up among those of the second."""
    conversation(5).write(tmp_path / "a")
    conversation(2).write(tmp_path / "b")

    def ends(number: int) -> None:
        if number == 6:
            raise OSError("the disk has a bad day")

    outcomes: list[Outcome] = []
    monkeypatch.setattr(files, "write_unseen", counted(files.write_unseen, ends))
    archive.inscribe([tmp_path / "a", tmp_path / "b"], outcomes.append)
    assert sorted(outcome.what for outcome in outcomes) == ["failed", "new"]
    shelf = archive.shelf(archive.sessions()[0])
    assert sorted(path.name for path in shelf.rounds.iterdir()) == ["001.json", "002.json"]
    assert not archive.layout.unseen.exists()


def test_a_summary_that_outlived_its_session_is_kept(archive: Archive, home: Path) -> None:
    """A document without its folder is somebody's: what was written into it stays."""
    SESSION.write(home)
    archive.inscribe([home])
    shelf = archive.shelf(archive.sessions()[0])
    text = shelf.document.read_text()
    placeholder = text.split("\n# ")[1].split("\n")[2]
    archive.forget(SESSION.id)
    shelf.document.parent.mkdir(exist_ok=True)
    shelf.document.write_text(text.replace(f"\n{placeholder}\n", "\nWhat I did that day.\n", 1))
    archive.inscribe([home])
    assert "\nWhat I did that day.\n" in shelf.document.read_text()
