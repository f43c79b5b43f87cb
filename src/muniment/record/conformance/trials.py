"""Trials that need nothing but processes: kills, crowds, torn neighbours, repeated events, readers of a live file.

Each gives its complaints, empty if all is well.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from muniment.record.conformance import history
from muniment.record.conformance.history import payload_of
from muniment.record.conformance.processes import Nursery, World
from muniment.record.conformance.subject import APPEND_ONLY, BOTH, ONCE, RESUMES, SHARED, Subject, load
from muniment.record.conformance.worker import SESSION

ENDLESS = 1_000_000
_LARGE_BYTES = 48 << 20
_CAPS = (2000, 400_000, 8 << 20)
"""Lines that go into one page, into several, into very many."""
_KILLS_PER_FILE = 25
_MEMORY = "/dev/shm"
OLD = [(f"old-{number}", payload_of(f"old-{number}", 40)) for number in range(3)]
TORN = ("torn", payload_of("torn", 60))
"""Events of a file whose last line is unfinished."""


def random_kills(name: str, folder: Path, nursery: Nursery, kills: int, seed: int, largest: int) -> list[str]:
    """Writers are killed at any moment, and others take their place, on one file after the other.

    Every other file lies in memory where that can be had: there a kill tears lines at pages, and not at megabytes."""
    chance, done, number = random.Random(seed), 0, 0
    while done < kills:
        with _in_memory(number % 2 == 1) as memory:
            world = World(name, folder / f"kills{number}", memory)
            done += _massacre(world, nursery, min(kills - done, _KILLS_PER_FILE), chance, largest)
            if found := world.complaints():
                kept = shutil.copytree(world.path.parent, folder / "kept")
                return [f"{kept}, after {done} kills with seed {seed}:", *found]
        shutil.rmtree(world.notes.parent)
        number += 1
    return []


@contextlib.contextmanager
def _in_memory(wanted: bool) -> Generator[Path | None]:
    """A folder in memory, if it is wanted and there is such a thing."""
    if not wanted or not os.access(_MEMORY, os.W_OK):
        yield None
        return
    with tempfile.TemporaryDirectory(dir=_MEMORY, prefix="conformance-") as folder:
        yield Path(folder)


def _massacre(world: World, nursery: Nursery, kills: int, chance: random.Random, largest: int) -> int:
    """So many kills on one file, fewer if it grows large; then one writer who has to live with what is left."""
    cap = min(largest, round(chance.choice(_CAPS) ** chance.uniform(0.7, 1)))
    smallest = round(cap ** chance.choice([0, 0.5, 0.9]))
    moment = 0.03 if cap < 20_000 else 0.004  # large lines fill the file soon
    crowd = chance.choice([1, 1, 2, 2, 3, 4, 6, 8]) if SHARED in world.subject.promises else 1
    alive, started, done = list[int](), 0, 0
    while done < kills and _size(world.path) < _LARGE_BYTES:
        while len(alive) < crowd:
            how = {"seed": chance.getrandbits(32), "flush_every": chance.choice([0, 1, 20])}
            alive.append(nursery.start(world.job(f"w{started}", ENDLESS, smallest=smallest, largest=cap, **how)))
            started += 1
        time.sleep(chance.random() * moment)
        if chance.random() < 0.7:
            _wait_for_growth(world.path)
        chance.shuffle(alive)
        victims = alive[: chance.choice([1, 1, crowd])]
        nursery.kill(*victims)
        alive = alive[len(victims) :]
        done += len(victims)
    nursery.kill(*alive)
    nursery.run([world.job("survivor", 3)])
    return done + len(alive)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def crowd(name: str, folder: Path, nursery: Nursery, writers: int, events: int) -> list[str]:
    """Many writers at once, each opening the file a few times; nobody dies."""
    return _together(name, folder, nursery, writers, events, reopen_every=5 + events // 5, largest=3000)


def come_and_go(name: str, folder: Path, nursery: Nursery, writers: int, events: int) -> list[str]:
    """They open the file again and again, while others are in the middle of a large line."""
    return _together(name, folder, nursery, writers, events, reopen_every=2, smallest=1 << 16, largest=1 << 20)


def _together(name: str, folder: Path, nursery: Nursery, writers: int, events: int, **how: object) -> list[str]:
    world = World(name, folder / "crowd")
    gate = folder / "go"
    jobs = [world.job(f"w{number}", events, flush_every=50, gate=str(gate), **how) for number in range(writers)]
    pids = [nursery.start(job) for job in jobs]
    gate.touch()
    earlier = _watched(world, 0.2)
    codes = [nursery.wait(pid) for pid in pids]
    found = world.complaints(before=earlier)
    missing = [f"a writer ended with {code}" for code in codes if code] + world.errors()[:5]
    return found + missing


def _watched(world: World, seconds: float) -> dict[str, bytes]:
    time.sleep(seconds)
    return world.snapshot()


def live_reader(name: str, folder: Path, nursery: Nursery, events: int, largest: int = 4 << 20) -> list[str]:
    """Somebody reads while large lines are being written. What was acknowledged before can be read, always."""
    world = World(name, folder / "live")
    pids = [nursery.start(world.job(f"w{n}", events, smallest=largest // 8, largest=largest)) for n in range(2)]
    found: list[str] = []
    deadline = time.monotonic() + 60
    while not found and time.monotonic() < deadline and not _ended(world, events):
        known = world.attempts()
        _wait_for_growth(world.path)
        read = world.subject.read(world.path) if world.path.exists() else []
        there = {uuid for uuid, _ in read}
        found = [f"{a.uuid} was acknowledged and a reader did not see it" for a in known if a.accepted]
        found = [complaint for complaint in found if complaint.split()[0] not in there]
    for pid in pids:
        nursery.wait(pid)
    return found[:5] + world.complaints() + world.errors()[:5]


def _wait_for_growth(path: Path) -> None:
    """Until somebody is in the middle of a line, most likely; but not for long."""
    name, before, deadline = str(path), _size(path), time.monotonic() + 0.1
    with contextlib.suppress(FileNotFoundError):
        while os.stat(name).st_size == before and time.monotonic() < deadline:
            pass


def _ended(world: World, events: int) -> bool:
    return all(len([n for n in notes if n.kind != "invoke"]) >= events for _, notes in world.history())


def torn_neighbour(name: str, folder: Path, steps: int = 0) -> list[str]:
    """A writer died in the middle of its line, at any byte of it: the lines of others are whole, before and after.

    The torn event is then recorded again, as a harness would; it must be there, and once."""
    subject = load(name)
    whole, last = two_versions(subject, folder)
    cuts = range(len(whole), len(last) + 1)
    chosen = cuts if not steps else [*cuts[:: max(1, len(cuts) // steps)], len(last) - 1]
    found: list[str] = []
    for cut in chosen:
        for retry in (True, False):
            path = folder / f"torn{cut}-{retry}"
            path.write_bytes(last[:cut])
            found += [f"torn at byte {cut - len(whole)}: {what}" for what in _after_tear(subject, path, retry)]
            path.unlink()
    return found[:20]


def two_versions(subject: Subject, folder: Path) -> tuple[bytes, bytes]:
    """The file before and after its last event."""
    path = folder / "whole"
    writer = subject.open(path)
    for uuid, payload in OLD:
        writer.append(SESSION, uuid, payload)
    writer.flush()
    before = path.read_bytes()
    writer.append(SESSION, *TORN)
    writer.flush()
    writer.close()
    return before, path.read_bytes()


def _after_tear(subject: Subject, path: Path, retry: bool) -> list[str]:
    new = ("new", payload_of("new", 40))
    before = path.read_bytes()
    wanted = [TORN, new] if retry else [new]
    for event in wanted:  # each in a process life of its own, as far as the subject can tell
        writer = subject.open(path)
        writer.append(SESSION, *event)
        writer.close()
    read = subject.read(path)
    found = [f"{event[0]} is lost" for event in [*OLD, *wanted] if event not in read]
    found += [f"{event[0]} is no event of ours" for event in read if event not in [*OLD, TORN, new]]
    if ONCE in subject.promises:
        found += [f"{event[0]} is there twice" for event in {*read} if read.count(event) > 1]
    if APPEND_ONLY in subject.promises:
        found += history.changed({path.name: before}, {path.name: path.read_bytes()})
    return found


def repeated(name: str, folder: Path, nursery: Nursery, writers: int, events: int) -> list[str]:
    """The same events from several processes at once, and again after a restart; then other content under their ids."""
    world = World(name, folder / "repeated")
    if ONCE not in world.subject.promises:
        return []
    gate = folder / "go"
    crowd = writers if SHARED in world.subject.promises else 1
    pids = [nursery.start(world.job("same", events, gate=str(gate), largest=200)) for _ in range(crowd)]
    gate.touch()
    for pid in pids:
        nursery.wait(pid)
    nursery.run([world.job("same", events, largest=200)])
    found = world.complaints()
    if BOTH in world.subject.promises:
        for _ in range(2):
            nursery.run([world.job("same", events, flavour="other", largest=200)])
        found += world.complaints()
    return found


def forked(name: str, folder: Path, nursery: Nursery, children: int, events: int) -> list[str]:
    """One process opens the file, its children write with what they inherited: the same events, at the same time."""
    world = World(name, folder / "forked")
    nursery.run([world.job("fork", events, forks=children, largest=200)])
    return world.complaints() + world.errors()[:5]


def small_files(name: str, folder: Path, nursery: Nursery, limits: range) -> list[str]:
    """The file may not grow beyond a limit: a real short write, then an error; then it may, and writing goes on."""
    found: list[str] = []
    for limit in limits:
        world = World(name, folder / f"limit{limit}")
        nursery.run([world.job("w", 20, smallest=50, largest=400, file_limit=limit, retry=True)])
        found += [f"limit of {limit} bytes: {what}" for what in world.complaints() + not_resumed(world)]
    return found[:20]


def not_resumed(world: World) -> list[str]:
    """After the one error that was lifted, every append must succeed."""
    if RESUMES not in world.subject.promises:
        return []
    accepted = {attempt.uuid for attempt in world.attempts() if attempt.accepted}
    never = {attempt.uuid for attempt in world.attempts()} - accepted
    return [f"{uuid} was refused when there was room again: {world.errors()[-1:]}" for uuid in sorted(never)][:5]
