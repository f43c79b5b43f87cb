"""Disks of our own to fill up and to cut the power of: a small tmpfs, ext4 and xfs in a file. Most of it needs root."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import shutil
import struct
import subprocess
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from muniment.record.conformance.processes import Nursery, Unavailable, World
from muniment.record.conformance.subject import SHARED
from muniment.record.conformance.trials import ENDLESS, not_resumed

_SHUTDOWN = 0x8004587D
"""FS_IOC_SHUTDOWN: the file system stops, now, and what was not on its disk never will be."""
_MODES = (0, 1, 2)
"""Sync first; write out the journal; write out nothing."""
_MAKE = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"]}
_MEGABYTES = {"ext4": 64, "xfs": 320}
OPTIONS = {"ext4": ("data=ordered", "data=writeback", "data=ordered,nodelalloc"), "xfs": ("defaults",)}
_CUTS_PER_DISK = 20


def _do(words: Sequence[str]) -> None:
    """Run a command that the machine may not allow."""
    if not shutil.which(words[0]):
        raise Unavailable(f"{words[0]} is not installed")
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        why = done.stderr.strip().partition("\n")[0]
        raise Unavailable(f"`{' '.join(words[:3])}` is not possible here: {why}")


@contextlib.contextmanager
def mounted(words: Sequence[str], folder: Path) -> Generator[Path]:
    """A file system at a folder, for a while."""
    folder.mkdir(parents=True, exist_ok=True)
    _do(["mount", *words, str(folder)])
    try:
        yield folder
    finally:
        _unmount(folder)


def _unmount(folder: Path) -> None:
    """A process that was just killed may hold on to the disk for a moment."""
    for _ in range(100):
        if subprocess.run(["umount", str(folder)], capture_output=True).returncode == 0:
            return
        time.sleep(0.02)
    subprocess.run(["umount", "-l", str(folder)], check=True)


# -- a full disk


def full_disks(name: str, folder: Path, nursery: Nursery, levels: Sequence[int]) -> list[str]:
    """A disk of one megabyte with so many kilobytes left, each in turn; then room is made and writing goes on."""
    found: list[str] = []
    with mounted(["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"], folder / "disk") as disk:
        for level in levels:
            world = World(name, folder / f"level{level}", disk / f"level{level}")
            ballast = _fill(disk, level)
            job = world.job("w", 30, smallest=100, largest=60_000, seed=level, ballast=str(ballast), retry=True)
            nursery.run([job])
            found += [f"{level} KiB left: {what}" for what in world.complaints() + not_resumed(world)]
            ballast.unlink(missing_ok=True)
            shutil.rmtree(world.path.parent)
            shutil.rmtree(world.notes.parent)
    return found[:20]


def _fill(disk: Path, kilobytes: int) -> Path:
    """Leave so much room."""
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    ballast = disk / "ballast"
    with ballast.open("wb") as out:
        os.posix_fallocate(out.fileno(), 0, max(1, free - kilobytes * 1024))
    return ballast


# -- power cuts


def power_cuts(name: str, folder: Path, nursery: Nursery, kind: str, cuts: int, seed: int) -> list[str]:
    """Writers at work, the power is cut, the disk comes back: everything durable is there, again and again."""
    chance, done = random.Random(seed), 0
    while done < cuts:
        disk = Loop(kind, folder / f"{kind}{done}", OPTIONS[kind][done // _CUTS_PER_DISK % len(OPTIONS[kind])])
        batch = min(_CUTS_PER_DISK, cuts - done)
        found = _cut_again_and_again(name, disk, nursery, batch, chance)
        if found:
            return [f"{kind} ({disk.options}), seed {seed}, after {done} cuts and more:", *found]
        shutil.rmtree(disk.folder)
        done += batch
    return []


class Loop:
    """A file system inside a file."""

    def __init__(self, kind: str, folder: Path, options: str) -> None:
        self.kind, self.folder, self.options = kind, folder, options
        folder.mkdir(parents=True)
        self._image = folder / "image"
        with self._image.open("wb") as out:
            out.truncate(_MEGABYTES[kind] << 20)
        _do([*_MAKE[kind], str(self._image)])

    def mounted(self) -> contextlib.AbstractContextManager[Path]:
        words = ["-t", self.kind, "-o", f"loop,{self.options}", str(self._image)]
        return mounted(words, self.folder / "disk")


def cut(disk: Path, mode: int) -> None:
    """The power is gone."""
    descriptor = os.open(disk, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("I", mode))
    except OSError as error:
        raise Unavailable(f"this kernel does not cut the power of a file system: {error.strerror}") from None
    finally:
        os.close(descriptor)


def _cut_again_and_again(name: str, disk: Loop, nursery: Nursery, cuts: int, chance: random.Random) -> list[str]:
    """One disk, one file after another, each cut a few times; a file that grew through a cut is cut again."""
    world: World | None = None
    for number in range(cuts):
        if world is None or number % 4 == 0:
            world = World(name, disk.folder / f"world{number}", disk.folder / "disk" / f"world{number}")
        with disk.mounted() as place:
            world.path.parent.mkdir(parents=True, exist_ok=True)
            _write_until_cut(world, place, nursery, chance, number)
        with disk.mounted():
            if found := world.complaints("durable"):
                kept = disk.folder / "kept"
                shutil.copytree(world.path.parent, kept)
                return [f"{kept}, cut {number}:", *found]
    return []


def _write_until_cut(world: World, place: Path, nursery: Nursery, chance: random.Random, number: int) -> None:
    crowd = chance.randint(1, 4) if SHARED in world.subject.promises else 1
    largest = round(100_000 ** chance.random()) + 100
    jobs = [
        world.job(f"c{number}w{writer}", ENDLESS, largest=largest, flush_every=chance.choice([1, 3, 10]))
        for writer in range(crowd)
    ]
    pids = [nursery.start(job) for job in jobs]
    _disturb(world.path, chance)
    world.power_is_gone()
    cut(place, chance.choice(_MODES))
    nursery.kill(*pids)


def _disturb(path: Path, chance: random.Random) -> None:
    """A while in which the kernel writes out pages as it likes: also in the middle of the file, and before others."""
    end = time.monotonic() + 0.005 + chance.random() * 0.04
    while time.monotonic() < end:
        with contextlib.suppress(OSError), path.open("rb") as file:
            size = max(1, os.fstat(file.fileno()).st_size)
            start = chance.randrange(size)
            os.posix_fadvise(file.fileno(), start, size - start, os.POSIX_FADV_DONTNEED)  # begins the writing out
        time.sleep(chance.random() * 0.01)
