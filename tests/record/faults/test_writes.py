"""Writes that fail, lie or come short, and places that cannot be written."""

from __future__ import annotations

import gc
import os
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muniment.errors import NotRecorded
from muniment.record import log, read
from muniment.record.conformance.processes import environment

from .engine import FORM, another, line, needs_strace, uuids


def traced(path: Path, inject: str, work: str) -> list[str]:
    """What a process printed that did some work while system calls on the file failed."""
    tracer = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", str(path), "-e", "trace=write", "-e", f"inject={inject}"]
    with_log = f"""
from pathlib import Path
from tests.record.faults.engine import FORM, line
from muniment.errors import NotRecorded
from muniment.record.log import Log
log = Log(Path({str(path)!r}), FORM)
def add(uuid):
    try:
        log.append(line(uuid))
        print("ok", uuid)
    except NotRecorded as error:
        print("refused", uuid, error)
{work}
log.close()
"""
    words = [*tracer, sys.executable, "-c", with_log]
    done = subprocess.run(words, capture_output=True, text=True, env=environment())
    if "PTRACE" in done.stderr:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_strace
def test_a_kernel_that_lies_is_not_believed(path: Path) -> None:
    """The write returns as if it had written everything, and did nothing."""
    length = len(line("b").line) + 1
    said = traced(path, f"write:retval={length}:when=2", "add('a'); add('b'); add('c'); add('b')")
    assert said[0] == "ok a"
    assert "refused b" in said[1]
    assert "did not grow" in said[1]
    assert said[2:] == ["ok c", "ok b"]
    assert uuids(path) == ["a", "c", "b"]


@needs_strace
def test_an_interrupted_write_is_no_error(path: Path) -> None:
    said = traced(path, "write:error=EINTR:when=2", "add('a'); add('b'); add('c')")
    assert said == ["ok a", "ok b", "ok c"]
    assert uuids(path) == ["a", "b", "c"]


@needs_strace
@pytest.mark.parametrize(("error", "word"), [("EIO", "Input/output error"), ("ENOSPC", "No space left")])
def test_an_error_says_which_file_and_why(path: Path, error: str, word: str) -> None:
    said = traced(path, f"write:error={error}:when=2", "add('a'); add('b'); add('b')")
    assert said[0] == "ok a"
    assert str(path) in said[1]
    assert word in said[1]
    assert said[2] == "ok b"
    assert uuids(path) == ["a", "b"]


def test_short_writes_are_finished_under_the_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel takes a byte at a time, and another writer comes in between."""
    opened, real = log.Log(path, FORM), os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data[:1])))
    other = log.Log(path, FORM)
    writers = [threading.Thread(target=each.append, args=(line(name),)) for name, each in [("a", opened), ("b", other)]]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    monkeypatch.undo()
    opened.close()
    other.close()
    assert sorted(uuids(path)) == ["a", "b"]
    assert list(read.read(path, "strict"))


def test_another_program_that_does_not_lock_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, real = log.Log(path, FORM), os.write

    def write(descriptor: int, data: bytes) -> int:
        with path.open("ab") as rude:
            rude.write(line("rude").line + b"\n")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    opened.append(line("a"))
    monkeypatch.undo()
    assert any("does not lock" in said for said in opened.damage)
    opened.append(line("b"))
    opened.close()
    assert uuids(path) == ["rude", "a", "b"]


@contextmanager
def limit(kind: int, value: int) -> Iterator[None]:
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (value, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


def lowest_free_descriptor() -> int:
    """The number that the next open would get: the limit is one of numbers, not of how many are open."""
    gc.collect()  # what is forgotten but not closed yet must not make room later
    free = os.dup(0)
    os.close(free)
    return free


def test_without_descriptors_an_open_log_still_writes(path: Path) -> None:
    opened = log.Log(path, FORM)
    with limit(resource.RLIMIT_NOFILE, lowest_free_descriptor()):
        opened.append(line("a"), durable=True)
        with pytest.raises(NotRecorded):
            log.Log(path.with_name("other.jsonl"), FORM)
    opened.close()
    assert uuids(path) == ["a"]


def test_without_memory_nothing_that_was_there_is_hurt(path: Path) -> None:
    work = """
import resource
log.append(line("before"))
big = line("big", "x" * (64 << 20))
used = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20), resource.RLIM_INFINITY))
try:
    log.append(big)
    outcome = "ok"
except MemoryError:
    outcome = "no memory"
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.append(line(outcome), durable=True)
"""
    with another(path, work):
        pass
    assert uuids(path) == ["before", "no memory"]


def as_folder(path: Path) -> None:
    path.mkdir()


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_link(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))


def as_device(path: Path) -> None:
    path.symlink_to("/dev/null")


@pytest.mark.parametrize("make", [as_folder, as_pipe, as_link, as_device])
def test_what_is_no_regular_file_is_refused(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    with pytest.raises(NotRecorded, match=path.name):
        log.Log(path, FORM)
    assert not path.with_name("elsewhere").exists()


def test_a_folder_that_cannot_be_written_is_refused(path: Path) -> None:
    """As somebody who is not root: for root there are no modes."""
    work = "os.setuid(65534)" if os.geteuid() == 0 else ""
    folder = path.parent / "closed"
    folder.mkdir(mode=0o555)
    code = f"""
import os
from pathlib import Path
from tests.record.faults.engine import FORM, line
from muniment.errors import NotRecorded
from muniment.record.log import Log
{work}
try:
    Log(Path({str(folder / "s.jsonl")!r}), FORM)
except NotRecorded as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert "Permission denied" in ran.stdout, ran
    assert "s.jsonl" in ran.stdout, ran


@pytest.fixture
def few_names(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for few files."""
    folder = tmp_path / "few"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=3,mode=700", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_without_names_is_refused_and_the_others_go_on(few_names: Path) -> None:
    opened = log.Log(few_names / "one.jsonl", FORM)
    log.Log(few_names / "two.jsonl", FORM).close()
    with pytest.raises(NotRecorded, match=r"three.jsonl: No space left"):
        log.Log(few_names / "three.jsonl", FORM)
    opened.append(line("a"), durable=True)
    opened.close()
    assert uuids(few_names / "one.jsonl") == ["a"]
