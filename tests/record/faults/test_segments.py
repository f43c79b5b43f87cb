"""An fsync that failed is not believed again; a name is durable before its content is."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muniment.errors import NotRecorded
from muniment.record import disk, log

from .engine import FORM, line, uuids
from .subjects import Ours


@contextmanager
def failing_sync(path: Path, monkeypatch: pytest.MonkeyPatch, times: int = 1) -> Iterator[None]:
    """The next so many fsyncs of this file fail; those of others do not."""
    left, real = [times], os.fdatasync

    def fsync(descriptor: int) -> None:
        if left[0] and os.path.exists(path) and os.fstat(descriptor).st_ino == path.stat().st_ino:
            left[0] -= 1
            raise OSError(5, "Input/output error")
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fsync)
        yield


def test_recording_goes_on_in_the_next_segment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = log.Log(path, FORM)
    opened.append(line("safe"), durable=True)
    opened.append(line("accepted"))
    with failing_sync(path, monkeypatch):
        opened.append(line("waiting"), durable=True)
    opened.append(line("later"), durable=True)
    assert opened.segment.name == "session.jsonl.s1"
    assert [Ours().read(opened.segment)[n][0] for n in range(3)] == ["accepted", "waiting", "later"]
    assert "fsync failed" in opened.damage[0]
    opened.close()
    assert uuids(path) == ["safe", "accepted", "waiting", "later"]


def test_segments_are_known_again_after_a_restart(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = log.Log(path, FORM)
    opened.append(line("safe"), durable=True)
    with failing_sync(path, monkeypatch):
        opened.append(line("moved"), durable=True)
    opened.close()
    again = log.Log(path, FORM)
    assert again.append(line("safe")).duplicate
    assert again.append(line("moved")).duplicate
    assert again.append(line("new")).line_number == 2
    again.close()
    assert uuids(path) == ["safe", "moved", "new"]


def test_both_contents_of_an_id_move_to_the_next_segment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = log.Log(path, FORM)
    opened.append(line("a", "one"), durable=True)
    opened.append(line("a", "two"))
    with failing_sync(path, monkeypatch):
        opened.flush()
    assert Ours().read(opened.segment) == [("a", "two")]
    assert opened.append(line("a", "two")).duplicate
    assert opened.append(line("a", "one")).duplicate
    opened.close()


def test_a_disk_that_failed_for_good_is_told_of_by_everything(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The background found out first, and nobody may be told that all is well."""
    opened = log.Log(path, FORM)
    monkeypatch.setattr(os, "fdatasync", lambda descriptor: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    opened.append(line("accepted"))
    deadline = time.monotonic() + 5
    while opened._broken is None and time.monotonic() < deadline:
        time.sleep(0.01)
    for act in (opened.flush, lambda: opened.append(line("b")), lambda: opened.append(line("c"), durable=True)):
        with pytest.raises(NotRecorded, match="fsync failed"):
            act()
    with pytest.raises(NotRecorded, match="fsync failed"):
        opened.close()


def test_others_follow_to_the_next_segment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = log.Log(path, FORM), log.Log(path, FORM)
    one.append(line("a"), durable=True)
    with failing_sync(path, monkeypatch):
        one.append(line("b"), durable=True)
    one.append(line("c"), durable=True)
    assert two.append(line("c")).duplicate
    two.append(line("d"))
    one.close()
    two.close()
    assert uuids(path) == ["a", "b", "c", "d"]


def test_lines_that_no_sync_covered_follow_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer that follows had accepted lines; in the old segment nobody will ever know whether they last."""
    one, two = log.Log(path, FORM), log.Log(path, FORM)
    monkeypatch.setattr(two, "_flush_quietly", lambda: None)
    two.append(line("accepted"))
    with failing_sync(path, monkeypatch):
        one.append(line("b"), durable=True)
    two.append(line("c"))
    assert sorted(uuids(disk.segment_path(path, 1))) == ["accepted", "b", "c"]
    one.close()
    two.close()


class Renamed:
    """A rotation: the full file goes to `.1`."""

    def __init__(self, path: Path, lines: int) -> None:
        self.path, self.lines = path, lines

    def due(self, size: int, lines: int) -> bool:
        return lines >= self.lines

    def move(self) -> None:
        os.replace(self.path, f"{self.path}.1")


def test_a_sync_under_way_covers_nothing_of_the_file_that_took_its_place(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread waits for the disk, another begins a new file: what it wrote there is not synced by the first."""
    opened = log.Log(path, FORM, rotation=Renamed(path, 2))
    opened.append(line("a"), durable=True)
    real, began, go_on = os.fdatasync, threading.Event(), threading.Event()
    synced: list[int] = []

    def slow(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        if not began.is_set():
            began.set()
            go_on.wait(10)
        real(descriptor)

    monkeypatch.setattr(os, "fdatasync", slow)
    waiting = threading.Thread(target=lambda: opened.append(line("b"), durable=True))
    waiting.start()
    began.wait()
    other = threading.Thread(target=lambda: opened.append(line("c")))
    other.start()
    other.join(0.2)
    go_on.set()
    waiting.join()
    other.join()
    opened.flush()
    assert path.stat().st_ino in synced, "the new file"
    opened.close()
    assert uuids(path) == ["c"]
    assert uuids(Path(f"{path}.1")) == ["a", "b"]


def test_a_file_whose_sync_failed_is_not_rotated_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second fsync would succeed, and cover nothing of what the first one lost."""
    opened = log.Log(path, FORM, rotation=Renamed(path, 1))
    monkeypatch.setattr(opened, "_flush_quietly", lambda: None)
    opened.append(line("a"))
    with failing_sync(path, monkeypatch):
        for act in (lambda: opened.append(line("b")), lambda: opened.append(line("b")), opened.flush, opened.close):
            with pytest.raises(NotRecorded, match="fsync failed"):
                act()
    assert not Path(f"{path}.1").exists()


def test_the_name_is_synced_even_if_its_maker_died_before(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(disk, "sync_folder", synced.append)
    path.touch()
    log.Log(path, FORM).close()
    assert synced == [path.parent]


def test_every_new_folder_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(disk, "sync_folder", synced.append)
    path = tmp_path / "one" / "two" / "session.jsonl"
    log.Log(path, FORM).close()
    assert set(synced) == {path.parent, path.parent.parent, tmp_path}
