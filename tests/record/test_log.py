"""The append engine: where lines land, what others did, what a failing disk does."""

import errno
import multiprocessing
import os
import threading
from pathlib import Path

import pytest

from muniment.errors import NotRecorded
from muniment.model.events import Event, Written
from muniment.record.disk import segments
from muniment.record.log import Log
from muniment.record.read import read
from muniment.sources.native.dialect import Native

NATIVE = Native()


def line(uuid: str, payload: object = None, prev: str | None = None) -> Written:
    (written,) = NATIVE.lines([Event("note", "2026-01-02T03:04:05.678Z", uuid, prev, payload)])
    return written


def uuids(path: Path) -> list[str]:
    return [NATIVE.events(found.raw)[0].uuid for found in read(path)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "log.jsonl"


def test_an_append_tells_where_its_line_lies(path: Path) -> None:
    log = Log(path, NATIVE)
    acks = [log.append(line(f"u{n}", "x" * n)) for n in range(5)]
    log.close()
    data = path.read_bytes()
    for n, ack in enumerate(acks):
        assert ack.line_number == n + 1
        assert data[ack.byte_offset :].startswith(line(f"u{n}", "x" * n).line + b"\n")


def test_files_and_folders_are_private(path: Path) -> None:
    Log(path, NATIVE).close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_the_same_event_again_changes_nothing(path: Path) -> None:
    log = Log(path, NATIVE)
    first = log.append(line("u", {"a": 1}))
    again = log.append(line("u", {"a": 1}), durable=True)
    log.close()
    assert again.duplicate
    assert (again.byte_offset, again.line_number) == (first.byte_offset, first.line_number)
    assert Log(path, NATIVE).append(line("u", {"a": 1})).duplicate
    assert uuids(path) == ["u"]


def test_another_event_under_the_same_id_is_kept_and_flagged(path: Path) -> None:
    log = Log(path, NATIVE)
    log.append(line("u", 1))
    second = log.append(line("u", 2))
    log.close()
    assert second.conflict
    assert uuids(path) == ["u", "u"]
    assert b'"conflict":true' in path.read_bytes().splitlines()[1]


def test_what_another_writer_added_is_learnt(path: Path) -> None:
    mine, other = Log(path, NATIVE), Log(path, NATIVE)
    mine.append(line("a"))
    other.append(line("b"))
    assert mine.append(line("b")).duplicate
    assert mine.append(line("c")).line_number == 3
    mine.close()
    other.close()


def test_only_what_others_added_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = Log(path, NATIVE), Log(path, NATIVE)
    for n in range(100):
        mine.append(line(f"m{n}", "x" * 1000))
    added = len(line("o").line) + 1
    other.append(line("o"))
    asked: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: asked.append(size) or pread(fd, size, at))
    mine.append(line("z"))
    mine.append(line("zz"))
    assert asked == [added]
    mine.close()
    other.close()


@pytest.mark.parametrize("torn", [b"{", b'{"type":"note","uuid":"dead"', b"\0\0\0\0", b"x" * 3_000_000])
def test_a_line_that_a_dead_writer_left_unfinished_costs_itself_only(path: Path, torn: bytes) -> None:
    log = Log(path, NATIVE)
    log.append(line("a"))
    with path.open("ab") as dead:
        dead.write(torn)
    ack = log.append(line("b"))
    log.close()
    assert log.damage
    events = [NATIVE.events(found.raw)[0] for found in read(path)]
    assert [e.uuid for e in events if e.type == "note"] == ["a", "b"]
    (told,) = [e.payload for e in events if e.type == "recovery"]
    assert (told["offset"], told["length"]) == (len(line("a").line) + 1, len(torn))
    assert path.read_bytes()[ack.byte_offset :] == line("b").line + b"\n"
    assert path.read_bytes().splitlines()[ack.line_number - 1] == line("b").line


def test_a_short_write_is_finished_under_the_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(path, NATIVE)
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data)[:7]))
    log.append(line("a", "long enough to take several writes"))
    monkeypatch.undo()
    log.close()
    assert uuids(path) == ["a"]


def test_a_full_disk_is_told_and_nothing_before_it_is_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(path, NATIVE)
    log.append(line("a"))
    write, calls = os.write, [10]

    def full(fd: int, data: bytes) -> int:
        if calls[0]:
            taken, calls[0] = calls[0], 0
            return write(fd, bytes(data)[:taken])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(NotRecorded, match="No space left"):
        log.append(line("b"))
    monkeypatch.undo()
    assert not log.append(line("b")).duplicate
    log.close()
    assert [e for e in uuids(path) if len(e) == 1] == ["a", "b"]


def test_a_kernel_that_lies_about_a_write_is_caught(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(path, NATIVE)
    monkeypatch.setattr(os, "write", lambda fd, data: len(data))
    with pytest.raises(NotRecorded, match="did not grow"):
        log.append(line("a"))


def test_after_a_failed_fsync_the_lines_are_written_again_to_a_new_segment(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log(path, NATIVE)
    log.append(line("old"), durable=True)
    log.append(line("accepted"))
    fsync, failed = os.fdatasync, []

    def fails_once(fd: int) -> None:
        if not failed:
            failed.append(fd)
            raise OSError(errno.EIO, "Input/output error")
        fsync(fd)

    monkeypatch.setattr(os, "fdatasync", fails_once)
    ack = log.append(line("durable"), durable=True)
    log.append(line("later"))
    log.close()
    assert [segment.name for segment in segments(path)] == ["log.jsonl", "log.jsonl.s1"]
    assert {"accepted", "durable", "later"} <= set(uuids(segments(path)[1]))
    assert segments(path)[1].read_bytes()[ack.byte_offset :].startswith(line("durable").line)
    assert Log(path, NATIVE).append(line("old")).duplicate


def test_a_disk_that_refuses_every_fsync_gets_no_acknowledgement(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(path, NATIVE)

    def fails(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fails)
    with pytest.raises(NotRecorded):
        log.append(line("a"), durable=True)
    with pytest.raises(NotRecorded):
        log.append(line("b"))


def test_a_file_that_was_deleted_is_begun_anew(path: Path) -> None:
    log = Log(path, NATIVE)
    log.append(line("a"))
    path.unlink()
    log.append(line("b"))
    log.close()
    assert uuids(path)[-1] == "b", "and what was not yet durable is written again"
    assert any("deleted" in told for told in log.damage)


def test_a_file_that_was_cut_short_is_read_again(path: Path) -> None:
    log = Log(path, NATIVE)
    log.append(line("a"))
    log.append(line("b"))
    os.truncate(path, len(line("a").line) + 1)
    assert not log.append(line("b")).duplicate
    log.close()
    assert uuids(path) == ["a", "b"]
    assert any("cut short" in told for told in log.damage)


def test_threads_share_a_log_and_its_commits(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(path, NATIVE)
    syncs: list[int] = []
    fsync = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda fd: syncs.append(fd) or fsync(fd))

    def write(name: str) -> None:
        for n in range(50):
            log.append(line(f"{name}{n}"), durable=True)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    assert sorted(uuids(path)) == sorted(f"{name}{n}" for name in "abcdefgh" for n in range(50))
    assert len(syncs) < 400, "commits are shared"


def _child(log: Log, name: str) -> None:
    for n in range(200):
        log.append(line(f"{name}{n}", "x" * 300))
    log.flush()


def test_a_forked_child_takes_its_own_lock(path: Path) -> None:
    log = Log(path, NATIVE)
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_child, args=(log, name)) for name in "abc"]
    for child in children:
        child.start()
    _child(log, "p")
    for child in children:
        child.join()
    log.close()
    assert sorted(uuids(path)) == sorted(f"{name}{n}" for name in "abcp" for n in range(200))
    assert len(list(read(path, "strict"))) == 800


def test_a_holder_of_the_lock_that_does_not_let_go_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muniment.record.disk.LOCK_SECONDS", 0.2)
    log, other = Log(path, NATIVE), Log(path, NATIVE)
    other._enter()
    with pytest.raises(NotRecorded, match=f"process {os.getpid()}"):
        log.append(line("a"))
    other._leave()
    log.append(line("a"))


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_only_a_regular_file_is_written_to(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "log.jsonl"
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(NotRecorded):
        Log(path, NATIVE)
    assert not (tmp_path / "elsewhere").exists()


def test_a_line_with_a_newline_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="newline"):
        Log(path, NATIVE).append(Written(b'{"a":\n1}'))


def test_a_closed_log_takes_nothing(path: Path) -> None:
    log = Log(path, NATIVE)
    log.close()
    log.close()
    with pytest.raises(NotRecorded, match="closed"):
        log.append(line("a"))


def test_what_could_not_be_written_again_is_owed_until_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(path, NATIVE)
    log.append(line("a"))
    path.unlink()
    write = os.write

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(NotRecorded, match="No space left"):
        log.flush()
    monkeypatch.setattr(os, "write", write)
    log.flush()
    assert uuids(path) == ["a"], "a flush that succeeds covers everything that was accepted"
    log.close()
