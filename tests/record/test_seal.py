"""The seal: any later edit, cut or bit flip of a log shows."""

import errno
import os
import random
from pathlib import Path

import pytest

from muniment.errors import StoreError
from muniment.model.events import Event
from muniment.record.disk import segments
from muniment.record.log import Log
from muniment.record.seal import chain_path, verify
from muniment.sources.native.dialect import Native

NATIVE = Native()


def add(log: Log, *uuids: str) -> None:
    for uuid in uuids:
        (written,) = NATIVE.lines([Event("note", "2026-01-02T03:04:05.678Z", uuid, None, {"text": uuid * 9})])
        log.append(written)


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    log = Log(path, NATIVE, seal=True)
    add(log, *"abcdefgh")
    log.close()
    return path


def test_an_untouched_log_is_whole(sealed: Path) -> None:
    found = verify(sealed)
    assert found.problems == ()
    assert found.covered == found.size == sealed.stat().st_size
    assert len(chain_path(sealed).read_bytes().splitlines()) == 8


def test_every_single_bit_flip_shows(sealed: Path) -> None:
    data = sealed.read_bytes()
    random.seed(7)
    for _ in range(300):
        at, bit = random.randrange(len(data)), random.randrange(8)
        sealed.write_bytes(data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :])
        assert verify(sealed).problems
    sealed.write_bytes(data)


def test_edits_of_lines_and_of_the_chain_show(sealed: Path) -> None:
    data, chain = sealed.read_bytes(), chain_path(sealed).read_bytes()
    lines, links = data.splitlines(keepends=True), chain.splitlines(keepends=True)
    for changed in (
        lines[1:],
        lines[:3] + lines[4:],
        [lines[1], lines[0], *lines[2:]],
        lines[:-1],
        [*lines[:2], *lines],
    ):
        sealed.write_bytes(b"".join(changed))
        assert verify(sealed).problems, changed
    sealed.write_bytes(data)
    for changed in (links[1:], links[:3] + links[4:], [links[1], links[0], *links[2:]]):
        chain_path(sealed).write_bytes(b"".join(changed))
        assert verify(sealed).problems, changed


def test_log_and_chain_cut_together_show_only_with_a_mark(sealed: Path) -> None:
    mark = verify(sealed).mark
    lines, links = (
        sealed.read_bytes().splitlines(keepends=True),
        chain_path(sealed).read_bytes().splitlines(keepends=True),
    )
    sealed.write_bytes(b"".join(lines[:5]))
    chain_path(sealed).write_bytes(b"".join(links[:5]))
    assert not verify(sealed).problems
    assert verify(sealed, mark).problems


def test_a_mark_holds_while_the_log_grows(sealed: Path) -> None:
    mark = verify(sealed).mark
    log = Log(sealed, NATIVE, seal=True)
    add(log, "i", "j")
    log.close()
    assert not verify(sealed, mark).problems


def test_lines_of_those_who_do_not_seal_are_covered_by_the_next_who_does(sealed: Path) -> None:
    plain, sealing = Log(sealed, NATIVE), Log(sealed, NATIVE, seal=True)
    add(plain, "x", "y")
    plain.close()
    assert verify(sealed).covered < verify(sealed).size
    add(sealing, "z")
    sealing.close()
    found = verify(sealed)
    assert (found.covered, found.problems) == (found.size, ())


def test_two_who_seal_make_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    logs = [Log(path, NATIVE, seal=True) for _ in range(2)]
    for n in range(20):
        add(logs[n % 2], f"u{n}")
    for log in logs:
        log.close()
    assert verify(path).problems == ()


def test_a_half_line_of_the_chain_is_mended(sealed: Path) -> None:
    with chain_path(sealed).open("ab") as file:
        file.write(b'{"offset":')
    log = Log(sealed, NATIVE, seal=True)
    add(log, "i")
    log.close()
    assert verify(sealed).problems == ()


def test_a_log_without_a_chain_cannot_be_verified(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    Log(path, NATIVE).close()
    with pytest.raises(StoreError, match="no chain"):
        verify(path)


def test_every_segment_has_a_chain_of_its_own(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(sealed, NATIVE, seal=True)
    fsync, failed = os.fdatasync, []

    def fails_once(descriptor: int) -> None:
        if not failed:
            failed.append(descriptor)
            raise OSError(errno.EIO, "Input/output error")
        fsync(descriptor)

    monkeypatch.setattr(os, "fdatasync", fails_once)
    add(log, "x")
    log.close()
    second = segments(sealed)[1]
    assert verify(second).problems == ()
    second.write_bytes(second.read_bytes().replace(b"xxx", b"xyx"))
    assert verify(second).problems


def test_a_chain_that_could_not_be_written_is_made_up_for(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(sealed, NATIVE, seal=True)
    add(log, "i")
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if b'"running"' in data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data)

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        add(log, "j")
    assert [problem for problem in log.damage if "the chain could not be written" in problem]
    add(log, "k")
    log.close()
    found = verify(sealed)
    assert found.problems == ()
    assert found.covered == found.size == sealed.stat().st_size


def test_a_line_that_is_there_already_needs_no_seal(sealed: Path) -> None:
    log = Log(sealed, NATIVE, seal=True)
    (again,) = NATIVE.lines([Event("note", "2026-01-02T03:04:05.678Z", "a", None, {"text": "a" * 9})])
    assert log.append(again, durable=True).duplicate
    log.close()
    assert verify(sealed).problems == ()
