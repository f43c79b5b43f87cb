"""The suite can fail: each planted bug is caught by one of its trials, and the engine as it is passes that trial."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.record.conformance import disks, syscalls, trials
from muniment.record.conformance.processes import Nursery, Unavailable

from . import planted
from .planted import Broken
from .subjects import Ours

Trial = Callable[[str, Path, Nursery], list[str]]
ATTEMPTS = 6
"""Some bugs show only now and then."""


def torn(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return trials.torn_neighbour(name, folder, steps=6)


def kills(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return trials.random_kills(name, folder, nursery, kills=20, seed=2, largest=2000)


def come_and_go(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return trials.come_and_go(name, folder, nursery, writers=4, events=12)


def crowd(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return trials.crowd(name, folder, nursery, writers=4, events=200)


def live(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return trials.live_reader(name, folder, nursery, events=8)


def same(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return trials.repeated(name, folder, nursery, writers=4, events=300)


def forked(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return trials.forked(name, folder, nursery, children=4, events=600)


def limited(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return trials.small_files(name, folder, nursery, range(100, 1000, 300))


def write_fails(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return syscalls.write_errors(name, folder, "EIO", limit=2)


def cut(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return syscalls.power_cuts(name, folder)


def settled(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return syscalls.settled_cuts(name, folder)


def sync_fails(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return syscalls.fsync_failures(name, folder)


def sync_fails_forever(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return syscalls.fsync_failures(name, folder, forever=True)


def full_disk(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return disks.full_disks(name, folder, nursery, [7, 100, 500])


def ext4_cut(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return disks.power_cuts(name, folder, nursery, "ext4", cuts=6, seed=3)


def xfs_cut(name: str, folder: Path, nursery: Nursery) -> list[str]:
    return disks.power_cuts(name, folder, nursery, "xfs", cuts=6, seed=3)


CAUGHT_BY: dict[type[Broken], Trial] = {
    planted.NoHeal: torn,
    planted.WholeLineTwice: torn,
    planted.HealsByCutting: torn,
    planted.StopsAtTheFirstBadLine: torn,
    planted.HealsWithoutLock: come_and_go,
    planted.AcksBeforeWriting: kills,
    planted.RewritesTheFile: kills,
    planted.TwoWritesPerLine: crowd,
    planted.WritesAtTheEndItSaw: crowd,
    planted.ReaderRepairs: live,
    planted.NoLock: same,
    planted.KnowsOnlyItsOwn: same,
    planted.DropsTheOther: same,
    planted.ChildSharesTheLock: forked,
    planted.TakesAShortWrite: limited,
    planted.GivesUp: limited,
    planted.AcksAfterAWriteError: write_fails,
    planted.NeverSyncs: cut,
    planted.AcksBeforeSyncing: cut,
    planted.NoFolderSync: cut,
    planted.NeverSettles: settled,
    planted.AcksAfterAFailedSync: sync_fails,
    planted.TrustsTheSecondSync: sync_fails,
    planted.ForgetsThatItIsBroken: sync_fails_forever,
}
CAUGHT_ON_DISKS: list[tuple[type[Broken], Trial]] = [
    (planted.TakesAShortWrite, full_disk),
    (planted.GivesUp, full_disk),
    (planted.NeverSyncs, ext4_cut),
    (planted.NeverSyncs, xfs_cut),
]


def name_of(subject: type[Ours]) -> str:
    return f"{subject.__module__}:{subject.__name__}"


def complaints(trial: Trial, subject: type[Ours], folder: Path, nursery: Nursery) -> list[str]:
    folder.mkdir()
    try:
        return trial(name_of(subject), folder, nursery)
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize(("bug", "trial"), [*CAUGHT_BY.items(), *CAUGHT_ON_DISKS], ids=lambda each: each.__name__)
def test_a_planted_bug_is_caught(bug: type[Broken], trial: Trial, tmp_path: Path, nursery: Nursery) -> None:
    assert any(complaints(trial, bug, tmp_path / f"try{number}", nursery) for number in range(ATTEMPTS))


@pytest.mark.parametrize("trial", dict.fromkeys(CAUGHT_BY.values()), ids=lambda trial: trial.__name__)
def test_the_engine_as_it_is_passes(trial: Trial, tmp_path: Path, nursery: Nursery) -> None:
    assert complaints(trial, Ours, tmp_path / "once", nursery) == []


def test_every_planted_bug_is_tried() -> None:
    """A bug that nobody looks for proves nothing."""
    made = {kind for kind in vars(planted).values() if isinstance(kind, type) and issubclass(kind, Broken)}
    assert made - {Broken} == set(CAUGHT_BY)
