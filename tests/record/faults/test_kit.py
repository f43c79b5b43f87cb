"""The conformance kit in the hands of a stranger: by its command line, against a writer that is not ours."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from muniment.record.conformance.processes import environment

NAIVE = '''
import json
from muniment.record.conformance.subject import Subject

class Writer:
    def __init__(self, path):
        self.file = path.open("a", encoding="utf-8")
    def append(self, session, uuid, payload):
        self.file.write(json.dumps([uuid, payload]) + "\\n")
    def flush(self):
        self.file.flush()
    def close(self):
        self.file.close()

class Naive(Subject):
    """What everybody writes first: a text file with a buffer."""
    def open(self, path):
        return Writer(path)
    def read(self, path):
        return [tuple(json.loads(line)) for line in path.open(encoding="utf-8", newline="\\n") if line.endswith("\\n")]
'''

CAREFUL = '''
import fcntl, json, os
from muniment.record.conformance.subject import APPEND_ONLY, ORDERED, RESUMES, SHARED, Subject

class Writer:
    def __init__(self, path):
        self.file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    def append(self, session, uuid, payload):
        data = json.dumps([uuid, payload]).encode() + b"\\n"
        fcntl.flock(self.file, fcntl.LOCK_EX)
        try:
            size = os.fstat(self.file).st_size
            if size and os.pread(self.file, 1, size - 1) != b"\\n":
                data = b"\\n" + data
            while data:
                data = data[os.write(self.file, data):]
        finally:
            fcntl.flock(self.file, fcntl.LOCK_UN)
    def flush(self):
        os.fsync(self.file)
    def close(self):
        os.close(self.file)

class Careful(Subject):
    """Short, and right about what it promises."""
    promises = frozenset({SHARED, ORDERED, APPEND_ONLY, RESUMES})
    def open(self, path):
        return Writer(path)
    def read(self, path):
        found = []
        for line in path.read_bytes().split(b"\\n")[:-1]:
            try:
                uuid, payload = json.loads(line)
                found.append((uuid, payload))
            except ValueError:
                pass
        return found
'''


def kit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the suite as its documentation says, away from this project's settings."""
    (folder / "naive.py").write_text(NAIVE)
    (folder / "careful.py").write_text(CAREFUL)
    command = [sys.executable, "-m", "pytest", "-q", "-rfs", "-p", "muniment.record.conformance", "--pyargs"]
    suite = "muniment.record.conformance.suite"
    env = environment() | {"PYTHONPATH": f"{folder}:{environment()['PYTHONPATH']}"}
    for name in ("CONFORMANCE_SUBJECT", "CONFORMANCE_SCALE", "CONFORMANCE_COUNT"):
        env.pop(name, None)
    own = ["-c", "/dev/null", "--rootdir", str(folder), "-p", "no:cacheprovider"]
    return subprocess.run([*command, suite, *own, *words], capture_output=True, text=True, cwd=folder, env=env)


def test_a_naive_writer_is_found_out(tmp_path: Path) -> None:
    few = ["--conformance-count", "kills=10", "--conformance-count", "cuts=1", "--conformance-count", "points=2"]
    ran = kit(tmp_path, "--conformance-subject", "naive:Naive", *few, "-k", "kills or paper or torn or same")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    failed = [line for line in ran.stdout.splitlines() if line.startswith("FAILED")]
    by_strace = ["test_power_cut_on_paper"] if shutil.which("strace") else []
    for test in ("test_random_kills", "test_torn_neighbour", "test_same_events_again", *by_strace):
        assert any(test in line for line in failed), ran.stdout
    assert "same-000000 is there more than once" in ran.stdout


def test_a_careful_writer_passes(tmp_path: Path) -> None:
    """The kit asks for nothing that only our own engine has; promises that are not made are skipped."""
    few = ["--conformance-count", "kills=15", "--conformance-count", "points=3"]
    which = "kills or torn or paper or many or limit or without_a_flush"
    ran = kit(tmp_path, "--conformance-subject", "careful:Careful", *few, "-k", which)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "does not promise: settles" in ran.stdout


def test_without_a_subject_everything_is_skipped_with_a_word(tmp_path: Path) -> None:
    ran = kit(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "--conformance-subject" in ran.stdout
    assert "passed" not in ran.stdout


@pytest.mark.parametrize("words", [("--conformance-scale", "huge"), ("--conformance-count", "kills=many")])
def test_a_wrong_option_is_told(tmp_path: Path, words: tuple[str, str]) -> None:
    ran = kit(tmp_path, "--conformance-subject", "naive:Naive", *words, "-k", "random_kills")
    assert ran.returncode != 0
    assert words[1].rpartition("=")[2] in ran.stdout + ran.stderr or "not a number" in ran.stdout + ran.stderr


def test_the_kit_does_not_make_the_program_need_pytest() -> None:
    """Workers and other programs import it without."""
    modules = "history, subject, processes, trials, syscalls, disks, disk_model, worker"
    code = f"import sys; from muniment.record.conformance import {modules}; print('pytest' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert ran.stdout == "False\n", ran
