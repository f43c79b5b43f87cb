"""The suite: every trial against one subject. Run it by its name, or import it into a test module of your own."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path

import pytest

from muniment.record.conformance import disks, syscalls, trials
from muniment.record.conformance.plugin import Counts
from muniment.record.conformance.processes import Nursery, Unavailable
from muniment.record.conformance.subject import FORKS, SETTLES, SHARED, load

__all__ = [
    "test_crash_at_every_call",
    "test_crash_while_mending",
    "test_every_fsync_fails_forever",
    "test_every_fsync_fails_once",
    "test_every_write_fails_once",
    "test_file_size_limit",
    "test_forked_writers",
    "test_full_disk",
    "test_many_writers",
    "test_power_cut_on_a_disk",
    "test_power_cut_on_paper",
    "test_power_cut_without_a_flush",
    "test_random_kills",
    "test_reader_of_a_live_file",
    "test_same_events_again",
    "test_torn_neighbour",
    "test_writers_who_come_and_go",
]


@contextlib.contextmanager
def possible() -> Generator[None]:
    """Skip, with the reason, what this machine does not allow."""
    try:
        yield
    except Unavailable as reason:
        pytest.skip(str(reason))


def must(complaints: list[str]) -> None:
    """All is well, or everything that is not is told."""
    assert not complaints, "\n".join(complaints)


def needs(subject: str, promise: str) -> None:
    if promise not in load(subject).promises:
        pytest.skip(f"the subject does not promise: {promise}")


def test_random_kills(subject: str, tmp_path: Path, nursery: Nursery, counts: Counts) -> None:
    must(trials.random_kills(subject, tmp_path, nursery, counts.kills, counts.seed, counts.largest))


def test_many_writers(subject: str, tmp_path: Path, nursery: Nursery, counts: Counts) -> None:
    needs(subject, SHARED)
    must(trials.crowd(subject, tmp_path, nursery, counts.writers, counts.events))


def test_writers_who_come_and_go(subject: str, tmp_path: Path, nursery: Nursery, counts: Counts) -> None:
    needs(subject, SHARED)
    must(trials.come_and_go(subject, tmp_path, nursery, counts.writers, 16))


def test_reader_of_a_live_file(subject: str, tmp_path: Path, nursery: Nursery) -> None:
    needs(subject, SHARED)
    must(trials.live_reader(subject, tmp_path, nursery, 12))


def test_torn_neighbour(subject: str, tmp_path: Path, counts: Counts) -> None:
    must(trials.torn_neighbour(subject, tmp_path, counts.points and 24))


def test_same_events_again(subject: str, tmp_path: Path, nursery: Nursery, counts: Counts) -> None:
    must(trials.repeated(subject, tmp_path, nursery, counts.writers, counts.events))


def test_forked_writers(subject: str, tmp_path: Path, nursery: Nursery, counts: Counts) -> None:
    needs(subject, FORKS)
    must(trials.forked(subject, tmp_path, nursery, counts.writers, counts.events))


def test_file_size_limit(subject: str, tmp_path: Path, nursery: Nursery, counts: Counts) -> None:
    """A real short write at every length of a line."""
    limits = range(40, 1500, 1 if not counts.points else 61)
    must(trials.small_files(subject, tmp_path, nursery, limits))


def test_full_disk(subject: str, tmp_path: Path, nursery: Nursery, counts: Counts) -> None:
    with possible():
        levels = range(0, 1024, max(1, 1024 // counts.levels))
        must(disks.full_disks(subject, tmp_path, nursery, levels))


def test_crash_at_every_call(subject: str, tmp_path: Path, nursery: Nursery, counts: Counts) -> None:
    with possible():
        must(syscalls.crash_points(subject, tmp_path, nursery, counts.points))


def test_crash_while_mending(subject: str, tmp_path: Path, nursery: Nursery, counts: Counts) -> None:
    with possible():
        must(syscalls.crash_points(subject, tmp_path, nursery, counts.points, torn=True))


@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_every_write_fails_once(subject: str, tmp_path: Path, counts: Counts, error: str) -> None:
    with possible():
        must(syscalls.write_errors(subject, tmp_path, error, counts.fsyncs))


def test_every_fsync_fails_once(subject: str, tmp_path: Path, counts: Counts) -> None:
    with possible():
        must(syscalls.fsync_failures(subject, tmp_path, counts.fsyncs))


def test_every_fsync_fails_forever(subject: str, tmp_path: Path, counts: Counts) -> None:
    with possible():
        must(syscalls.fsync_failures(subject, tmp_path, counts.fsyncs, forever=True))


def test_power_cut_on_paper(subject: str, tmp_path: Path) -> None:
    """By a model of the disk; needs no rights."""
    with possible():
        must(syscalls.power_cuts(subject, tmp_path))


def test_power_cut_without_a_flush(subject: str, tmp_path: Path) -> None:
    needs(subject, SETTLES)
    with possible():
        must(syscalls.settled_cuts(subject, tmp_path))


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_power_cut_on_a_disk(subject: str, tmp_path: Path, nursery: Nursery, counts: Counts, kind: str) -> None:
    with possible():
        must(disks.power_cuts(subject, tmp_path, nursery, kind, counts.cuts, counts.seed))
