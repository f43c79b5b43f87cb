"""Faults at system calls, by strace: death at every one of them, errors of write, failing fsyncs, simulated power cuts.

The last is a model, not a disk: from a trace it follows what an honest but merciless disk would have kept (bytes that
an fsync covered, names whose folder was synced, nothing that an fsync failed on), and looks at every moment at which
the subject had just called something durable. It needs no rights and finds what real power cuts find only by luck.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from muniment.record.conformance import history
from muniment.record.conformance.disk_model import Call, Disk, UnknownCall, calls_of
from muniment.record.conformance.history import Attempt
from muniment.record.conformance.processes import Nursery, Unavailable, World, run_under
from muniment.record.conformance.subject import load
from muniment.record.conformance.trials import OLD, TORN, two_versions
from muniment.record.conformance.worker import Job

_DEADLY = (
    "openat", "mkdir", "flock", "fcntl", "newfstatat", "fstat", "lseek", "read", "pread64", "write", "pwrite64",
    "writev", "fsync", "fdatasync", "rename", "renameat2", "linkat", "unlink", "ftruncate", "close",
)  # fmt: skip
_FOLLOWED = (
    "openat", "mkdir", "write", "pwrite64", "writev", "fsync", "fdatasync", "ftruncate", "truncate", "rename",
    "renameat2", "linkat", "unlink", "sync", "syncfs",
)  # fmt: skip
_LINE = re.compile(r"^(?:\d+ +)?(\w+)\(", re.MULTILINE)


def _strace() -> str:
    """The tracer, if it is there and may trace."""
    found = shutil.which("strace")
    if not found:
        raise Unavailable("strace is not installed")
    if subprocess.run([found, "-o", "/dev/null", "true"], capture_output=True).returncode:
        raise Unavailable("strace may not trace here")
    return found


def _world(name: str, folder: Path, torn: tuple[bytes, bytes] | None) -> World:
    """A place to work in: empty, or with a file that a dead writer left between these two versions."""
    world = World(name, folder)
    if torn:
        whole, last = torn
        world.path.write_bytes(last[: (len(whole) + len(last)) // 2])
        world.earlier = [Attempt("dead", uuid, len(payload), "", 0, 0) for uuid, payload in OLD]
        world.earlier.append(Attempt("dead", TORN[0], len(TORN[1]), "", 0))
    return world


def _workload(world: World) -> Job:
    return world.job("w", 4, largest=300, flush_every=2)


def _near(world: World) -> list[str]:
    """Only calls that concern the subject's files or their folder."""
    names = [world.path.parent, *world.subject.files(world.path)]
    return [word for name in names for word in ("-P", str(name))]


def _inject(world: World, calls: str, what: str) -> list[str]:
    tracer = [_strace(), "-f", "-qq", "-o", "/dev/null", *_near(world)]
    return [*tracer, "-e", f"trace={calls}", "-e", f"inject={calls}:{what}"]


def points(
    name: str, folder: Path, calls: Sequence[str] = _DEADLY, torn: tuple[bytes, bytes] | None = None
) -> list[tuple[str, int]]:
    """Every system call of the workload that concerns the file, as name and ordinal."""
    world, out = _world(name, folder / "counted", torn), folder / "counted.trace"
    tracer = [_strace(), "-f", "-qq", "-o", str(out), *_near(world), "-e", f"trace={','.join(calls)}"]
    if run_under(tracer, _workload(world)):
        raise AssertionError("the workload fails by itself")
    counted = Counter(_LINE.findall(out.read_text()))
    return [(call, number) for call in sorted(counted) for number in range(1, counted[call] + 1)]


def crash_points(name: str, folder: Path, nursery: Nursery, limit: int = 0, torn: bool = False) -> list[str]:
    """Death just before every one of those calls, then a writer who has to live with it.

    With `torn`, the file ends in an unfinished line, so that they die while they mend it."""
    found: list[str] = []
    versions = two_versions(load(name), folder) if torn else None
    for call, number in some(points(name, folder, torn=versions), limit):
        world = _world(name, folder / f"{call}{number}", versions)
        run_under(_inject(world, call, f"signal=SIGKILL:when={number}"), _workload(world))
        before = world.snapshot()
        nursery.run([world.job("survivor", 2)])
        found += [f"killed at {call} {number}: {what}" for what in world.complaints(before=before)]
    return found


def some(of: list[tuple[str, int]], limit: int) -> list[tuple[str, int]]:
    """So many of them, spread evenly; all if the limit is 0."""
    if not limit or limit >= len(of):
        return of
    return [of[index * len(of) // limit] for index in range(limit)]


def write_errors(name: str, folder: Path, error: str, limit: int = 0) -> list[str]:
    """Each write fails once: what was acknowledged before and after is there."""
    found: list[str] = []
    for call, number in some(points(name, folder, ("write", "pwrite64", "writev")), limit):
        world = World(name, folder / f"{error}-{call}{number}")
        run_under(_inject(world, call, f"error={error}:when={number}"), _workload(world))
        found += [f"{error} at {call} {number}: {what}" for what in world.complaints()]
        if not world.errors():
            found.append(f"{error} at {call} {number}: nobody was told")
    return found


def power_cuts(name: str, folder: Path) -> list[str]:
    """The workload as it is; the power is cut whenever something was just called durable."""
    world = World(name, folder / "cuts")
    return _cut_at_acks(world, _workload(world), [])


def settled_cuts(name: str, folder: Path) -> list[str]:
    """Nobody flushes, and a second passes: then what was accepted is durable, too."""
    world = World(name, folder / "settled")
    return _cut_at_acks(world, world.job("w", 4, largest=300, settle_seconds=1.0), [])


def fsync_failures(name: str, folder: Path, limit: int = 0, forever: bool = False) -> list[str]:
    """Each fsync fails once, or from then on: what is called durable thereafter must not rest on what it lost."""
    found: list[str] = []
    for call, number in some(points(name, folder, ("fsync", "fdatasync")), limit):
        when = f"{number}+" if forever else f"{number}"
        world = World(name, folder / f"{call}{number}")
        wrong = _cut_at_acks(world, _workload(world), ["-e", f"inject={call}:error=EIO:when={when}"])
        found += [f"EIO at {call} {when}: {what}" for what in wrong]
    return found


def _cut_at_acks(world: World, job: Job, inject: Sequence[str]) -> list[str]:
    """Run the workload, follow what the disk must have kept, and read that at every durable acknowledgement."""
    out = world.notes / "trace"
    tracer = [_strace(), "-f", "-y", "-qq", "-s", "0", "-o", str(out), "-e", f"trace={','.join(_FOLLOWED)}", *inject]
    run_under(tracer, job)
    calls = calls_of(out.read_text().splitlines())
    try:
        return [complaint for number, disk in _moments(world, calls) for complaint in _after_cut(world, disk, number)]
    except UnknownCall as call:
        raise Unavailable(f"{call}: the model of a power cut knows files that are appended to, and no others") from None


def _moments(world: World, calls: Sequence[Call]) -> Iterator[tuple[int, Disk]]:
    """The disk whenever a line of the history said `durable`, and how many lines there were."""
    disk, noted = Disk(world.path.parent), 0
    [(_, notes)] = world.history()
    for call in calls:
        if call.name == "write" and call.ended and call.path.startswith(str(world.notes)):
            noted += 1
            if notes[noted - 1].kind == "durable":
                yield noted, disk
        else:
            disk.follow(call)


def _after_cut(world: World, disk: Disk, noted: int) -> list[str]:
    """What is wrong with the file that the disk would give back."""
    place = world.notes.parent / f"after{noted}"
    place.mkdir()
    for path in world.path.parent.iterdir():
        if (kept := disk.kept(path)) is not None:
            (place / path.name).write_bytes(kept)
    [(writer, notes)] = world.history()
    attempts = history.attempts_of(writer, notes[:noted])
    path = place / world.path.name
    read = world.subject.read(path) if path.exists() else []
    found = history.complaints(attempts, read, survived="durable", ordered=False)
    shutil.rmtree(place)
    return [f"power cut after note {noted}: {what}" for what in found]
