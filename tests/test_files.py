"""Durable file work: what a store is made of, on systems that can write a file without a name and on others."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from muniment import files
from muniment.errors import StoreError


@pytest.fixture(params=[True, False], ids=["nameless", "named"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which files are first written without a name, or beside their place."""
    monkeypatch.setattr(files, "_CAN_NAME", request.param and files._CAN_NAME)
    return tmp_path


def test_a_file_is_written_whole_and_private(folder: Path) -> None:
    files.write_atomic(folder / "a", [b"one", b"", b"two"])
    assert (folder / "a").read_bytes() == b"onetwo"
    assert (folder / "a").stat().st_mode & 0o777 == files.FILE_MODE
    assert [path.name for path in folder.iterdir()] == ["a"]


def test_a_folder_that_is_missing_is_made(folder: Path) -> None:
    files.write_atomic(folder / "x" / "y" / "a", [b"one"])
    assert (folder / "x" / "y" / "a").read_bytes() == b"one"
    assert (folder / "x").stat().st_mode & 0o777 == files.FOLDER_MODE


def test_a_name_without_a_folder_is_one_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files.write_atomic("bare.md", [b"words"])
    files.write_unseen("other.md", [b"words"])
    assert files.make_folder("one/two")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bare.md", "one", "other.md"]


def test_a_working_folder_that_is_gone_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(FileNotFoundError):
        files.make_folder("one/two")
    with pytest.raises(OSError, match=r"\."):
        files.write_atomic("bare.md", [b"words"])


def test_a_file_is_replaced_or_stays_as_it_was(folder: Path) -> None:
    files.write_atomic(folder / "a", [b"one"])
    files.write_atomic(folder / "a", [b"two"])

    def broken():
        yield b"three"
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        files.write_atomic(folder / "a", broken())
    assert (folder / "a").read_bytes() == b"two"
    assert [path.name for path in folder.iterdir()] == ["a"]


@pytest.mark.parametrize("below", ["x", "x/y/z"])
def test_a_folder_below_a_link_to_nowhere_is_an_error(tmp_path: Path, below: str) -> None:
    (tmp_path / "disk").symlink_to(tmp_path / "not-mounted")
    with pytest.raises(FileNotFoundError):
        files.make_folder(tmp_path / "disk" / below)


def test_a_folder_tells_whether_it_is_new(tmp_path: Path) -> None:
    assert files.make_folder(tmp_path / "x" / "y")
    assert not files.make_folder(tmp_path / "x" / "y")


def test_what_a_sync_in_the_background_fails_with_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.Syncing(tmp_path).wait()

    def refuse(_: Path) -> None:
        raise StoreError("the disk refused to sync")

    monkeypatch.setattr(files, "sync", refuse)
    with pytest.raises(StoreError, match="refused"):
        files.Syncing(tmp_path).wait()


def test_a_folder_is_not_replaced_and_nothing_is_left_beside_it(folder: Path) -> None:
    (folder / "a").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        files.write_atomic(folder / "a", [b"one"])
    assert [path.name for path in folder.iterdir()] == ["a"]


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path = Path("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(str(path))
    with pytest.raises(IsADirectoryError if kind == "folder" else files.Irregular):
        files.read_regular(path)


def test_a_regular_file_is_read_whole_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 10_000)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert files.read_regular(tmp_path / "b") == b"x" * 10_000
    (tmp_path / "a").write_bytes(b"")
    assert files.read_regular(tmp_path / "a") == b""
    with pytest.raises(FileNotFoundError):
        files.read_regular(tmp_path / "c")


def test_a_pipe_gives_way_to_what_is_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    assert files.write_if_changed(tmp_path / "a", b"words")
    assert (tmp_path / "a").read_bytes() == b"words"
