"""Checkpoints: files are kept before they are edited, whole, once and for good."""

from __future__ import annotations

import hashlib
import os
import stat
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from muniment.errors import NotFound, NotRecorded, Unsupported
from muniment.record import paths
from muniment.record.checkpoint_log import Edit
from muniment.record.checkpoints import LOG, OBJECTS, Checkpoints
from muniment.record.log import Log
from muniment.record.rewind import rewind

from .project import Project, needs_permissions


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path)
    yield made
    made.kept.close()


def test_a_file_is_kept_once_and_privately(project: Project) -> None:
    project.write("a.txt", "one")
    project.write("b.txt", "one")
    os.chmod(project.root / "a.txt", 0o755)
    first = project.kept.before_edit(project.root / "a.txt", "e1")
    second = project.kept.before_edit(project.root / "b.txt", "e2")
    assert first.sha256 == second.sha256 == hashlib.sha256(b"one").hexdigest()
    assert first.mode == stat.S_IFREG | 0o755
    assert project.objects() == [first.sha256]
    kept = project.folder / OBJECTS / project.objects()[0]
    assert (kept.read_bytes(), stat.S_IMODE(kept.stat().st_mode)) == (b"one", 0o600)


def test_a_file_that_is_not_there_yet(project: Project) -> None:
    checkpoint = project.kept.before_edit(project.root / "new" / "a.txt", "e1")
    assert (checkpoint.sha256, checkpoint.mode) == (None, 0)
    assert not (project.folder / OBJECTS).exists()


def test_nothing_is_written_before_the_first_edit(project: Project) -> None:
    empty = project.kept.hash
    assert not project.folder.exists()
    with pytest.raises(NotFound):
        rewind(project.kept)
    assert not project.folder.exists()
    assert empty == hashlib.sha256().hexdigest()


def test_folders_pipes_and_devices_are_refused(project: Project) -> None:
    os.mkfifo(project.root / "pipe")
    for name, words in (("", "is a folder"), (".", "is a folder"), ("pipe", "neither a file nor a link")):
        with pytest.raises(Unsupported, match=words):
            project.kept.before_edit(project.root / name, "e1")
    with pytest.raises(Unsupported, match="neither"):
        project.kept.before_edit(Path("/dev/null"), "e1")


@needs_permissions
def test_an_unreadable_file_is_a_clear_error(project: Project) -> None:
    os.chmod(project.write("a.txt", "one"), 0)
    with pytest.raises(NotRecorded, match="no copy could be kept: Permission denied"):
        project.kept.before_edit(project.root / "a.txt", "e1")


def test_a_link_is_kept_as_a_link(project: Project, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside")
    link = project.root / "link"
    link.symlink_to("../secret")
    checkpoint = project.kept.before_edit(link, "e1")
    assert stat.S_ISLNK(checkpoint.mode)
    assert checkpoint.sha256 == hashlib.sha256(b"../secret").hexdigest()
    assert project.objects() == [checkpoint.sha256], "what lies outside is not copied"
    link.unlink()
    link.write_text("a file now")
    project.kept.settle()
    rewind(project.kept)
    assert os.readlink(link) == "../secret"
    assert (tmp_path / "secret").read_text() == "outside"


def test_an_edit_through_a_link_inside_the_project_comes_back(project: Project) -> None:
    project.write("real.txt", "one")
    (project.root / "link").symlink_to("real.txt")
    project.kept.before_edit(project.root / "link", "e1")
    (project.root / "link").write_text("two")
    project.kept.settle()
    rewind(project.kept)
    assert (project.root / "link").is_symlink()
    assert project.tree() == {"real.txt": "one", "link": "one"}


def test_a_name_that_is_no_utf8(project: Project) -> None:
    path = project.root / os.fsdecode(b"caf\xe9.txt")
    path.write_bytes(b"one")
    project.kept.before_edit(path, "e1")
    path.write_bytes(b"two")
    project.kept.settle()
    project.kept.close()
    with Checkpoints(project.folder) as again:
        report = rewind(again)
    assert path.read_bytes() == b"one"
    assert report.restored == (str(project.root.resolve() / path.name),)


def test_a_huge_file_takes_no_memory(project: Project) -> None:
    size = 64 << 20
    path = project.root / "huge"
    with path.open("wb") as out:
        out.truncate(size)
    tracemalloc.start()
    project.kept.before_edit(path, "e1")
    path.write_bytes(b"small")
    project.kept.settle()
    rewind(project.kept)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size == size
    assert peak < 8 << 20


def test_a_file_that_changes_while_it_is_copied(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project.write("a.txt", "one")
    restless = iter(range(100))
    real = paths.pieces

    def changing(place: Path, state: paths.State) -> Iterator[bytes]:
        path.write_text(f"version {next(restless)}")
        return real(place, state)

    monkeypatch.setattr(paths, "pieces", changing)
    with pytest.raises(NotRecorded, match="changes while it is copied"):
        project.kept.before_edit(path, "e1")
    assert next(restless) == 2, "tried twice"
    assert [name for name in project.objects() if not name.startswith(".")] == []


def test_a_file_that_changes_once_while_it_is_copied(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project.write("a.txt", "one")
    real = paths.pieces

    def changing(place: Path, state: paths.State) -> Iterator[bytes]:
        monkeypatch.setattr(paths, "pieces", real)
        path.write_text("two")
        return real(place, state)

    monkeypatch.setattr(paths, "pieces", changing)
    assert project.kept.before_edit(path, "e1").sha256 == hashlib.sha256(b"two").hexdigest()


def test_copy_and_log_are_synced_in_this_order(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project.write("a.txt", "one")
    synced: list[str] = []

    def noted(sync: Callable[[int], None]) -> Callable[[int], None]:
        return lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}")) or sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted(os.fsync))
    monkeypatch.setattr(os, "fdatasync", noted(os.fdatasync))
    kept = project.kept.before_edit(path, "e1")
    objects = project.folder / OBJECTS
    order = [synced.index(str(p)) for p in (objects / str(kept.sha256), objects)]
    assert order == sorted(order)
    assert max(i for i, name in enumerate(synced) if name == str(project.folder / LOG)) > order[-1]
    assert str(project.folder.parent) in synced, "the name of the session's folder is durable, too"


def test_a_damaged_copy_is_made_anew(project: Project) -> None:
    project.edit("a.txt", "one")
    project.edit("a.txt", "two")
    kept = project.folder / OBJECTS / hashlib.sha256(b"one").hexdigest()
    kept.write_bytes(b"")
    project.kept.close()
    project.kept = Checkpoints(project.folder)
    project.write("a.txt", "one")
    project.kept.before_edit(project.root / "a.txt", "e3")
    assert kept.read_bytes() == b"one"


def test_the_hash_stands_for_the_log(project: Project) -> None:
    hashes = [project.kept.hash]
    for text in ("one", "two"):
        project.edit("a.txt", text)
        hashes.append(project.kept.hash)
    assert len(set(hashes)) == 3
    project.kept.close()
    assert hashes[-1] == hashlib.sha256((project.folder / LOG).read_bytes()).hexdigest()
    with Checkpoints(project.folder) as again:
        assert again.hash == hashes[-1]


def test_an_unfinished_line_of_the_log_costs_only_itself(project: Project) -> None:
    project.write("a.txt", "one")
    project.edit("a.txt", "two")
    project.kept.close()
    with (project.folder / LOG).open("ab") as log:
        log.write(b'{"kind":"edit","id":"x","ts":"","ent')
    project.kept = Checkpoints(project.folder)
    project.edit("b.txt", "new")
    rewind(project.kept)
    assert project.tree() == {"a.txt": "one"}


def test_threads_share_the_checkpoints(project: Project) -> None:
    def edit(number: int) -> None:
        for turn in range(5):
            path = project.write(f"{number}.txt", f"{number} {turn}")
            project.kept.before_edit(path, f"e{number}-{turn}")
            path.write_text("edited")
            project.kept.settle()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(edit, range(6)))
    kept = project.kept.hash
    project.kept.close()
    with Checkpoints(project.folder) as again:
        assert again.hash == kept
        assert sum(isinstance(entry, Edit) for entry in again.entries) == 30
        rewind(again, force=True)
    assert project.tree() == {f"{number}.txt": f"{number} 0" for number in range(6)}


def test_after_edit_needs_an_announced_edit(project: Project) -> None:
    project.edit("a.txt", "one", settle=False)
    project.kept.after_edit(project.root / "a.txt")
    assert rewind(project.kept).deleted
    with pytest.raises(NotFound, match="no edit of it was announced"):
        project.kept.after_edit(project.root / "b.txt")


def test_the_log_is_an_ordinary_log(project: Project) -> None:
    """Every line has an id of its own, so that writing it twice, as after a failed fsync, counts once."""
    project.edit("a.txt", "one")
    project.kept.close()
    lines = (project.folder / LOG).read_bytes()
    with (project.folder / f"{LOG}.s1").open("wb") as segment:
        segment.write(lines)
    with Checkpoints(project.folder) as again:
        assert [type(entry).__name__ for entry in again.entries] == ["Began", "Edit", "Left"]
        assert isinstance(again._log, Log)
