"""Power cuts of an archive: a worker acknowledges what it did, the disk stops, comes back, and is asked for all of it.

The sources lie on another disk and are out of sight when the store is asked: what was acknowledged must survive both
the cut and the deletion of its source. Run as a program, this module is the worker.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import string
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from muniment.archive import Archive
from muniment.errors import MunimentError
from muniment.record.conformance.disks import OPTIONS, Loop, cut
from muniment.restore import Target
from muniment.search.query import Query
from muniment.sources.base import Move
from muniment.store import edits

from .world import Session, Tree, environment, identity, kill, needle

MODES = (0, 1, 2)
EVERY_STEP = "inscribe grow grow tag rewrite register ingest fork repair"
LETTERS = string.ascii_letters
CUTS_PER_DISK = 10
CUTS_PER_STORE = 3

Ack = dict[str, str | int]
"""What a worker says that it did: `do`, and what it did it to."""


# -- the worker


class Work:
    """One worker's archive and its sources. Every step does one thing and then says what is promised from now on."""

    def __init__(self, store: Path, home: Path, first: int) -> None:
        self.archive = Archive(store, {"HOME": str(home.parent / "nobody")})
        self.tree, self.home, self.next = Tree(home), home, first

    def steps(self, chance: random.Random, names: list[str]) -> Iterator[Ack]:
        """First sessions, so that there is something to lose; then these steps in any order."""
        for _ in range(2):
            yield from self.inscribe()
        while True:
            yield from getattr(self, chance.choice(names))()

    def inscribe(self) -> Iterator[Ack]:
        """A new session; every other one has a subagent and side files."""
        self.tree.add(self.next, rounds=2, side_files=self.next % 2 == 1)
        self.next += 1
        yield from self._archive_all()

    def grow(self) -> Iterator[Ack]:
        """Every session goes on."""
        self.tree.grow()
        yield from self._archive_all()

    def rewrite(self) -> Iterator[Ack]:
        """The agent writes a transcript anew and says other things in it: what it said before becomes a version."""
        number = self._first()
        yield {"do": "rewrite", "number": number}
        other = Session(number + 50_000)
        other.id = self.tree.sessions[number].id
        self.tree.sessions[number] = other
        self.tree.transcript(number).write_bytes(b"".join(other.lines(2)))
        yield from self._archive_all()

    def _archive_all(self) -> Iterator[Ack]:
        self.archive.inscribe([self.home])
        for number in self.tree.sessions:
            content = self.tree.transcript(number).read_bytes()
            yield {"do": "inscribe", "number": number, "size": len(content), "sha256": _sha256(content)}

    def tag(self) -> Iterator[Ack]:
        tag = f"tag{time.monotonic_ns()}"
        self.archive.set_tags(self._first_id(), [tag])
        yield {"do": "tag", "number": self._first(), "value": tag}

    def register(self) -> Iterator[Ack]:
        """A name, and a role to whose bucket the session moves."""
        name = f"Reed{time.monotonic_ns()}"
        self.archive.register(self._first_id(), name, "Historian")
        self.archive.move(self._first_id())
        yield {"do": "register", "number": self._first(), "value": name}

    def ingest(self) -> Iterator[Ack]:
        self.archive.ingest()
        for number in self.tree.sessions:
            yield {"do": "ingest", "number": number}

    def fork(self) -> Iterator[Ack]:
        """A session is given back under a new id; that one goes on from the other is noted here and nowhere else."""
        new = str(uuid.uuid4())
        *_, last = self.archive.restore(self._first_id(), Target(to=self.home.parent / new, move=Move(session_id=new)))
        if not last.note:  # else it says that it could not be noted, because the disk has stopped by now
            yield {"do": "fork", "number": self._first(), "value": new}

    def repair(self) -> Iterator[Ack]:
        """The index is damaged on the disk, and built anew."""
        yield {"do": "damage"}
        with self.archive.layout.database.open("r+b", buffering=0) as file:
            file.write(b"damage" * 100)
            os.fsync(file.fileno())
        self.archive.reindex()
        yield {"do": "repair"}
        time.sleep(0.05)  # a cut comes before the next step syncs

    def _first(self) -> int:
        return next(iter(self.tree.sessions))

    def _first_id(self) -> str:
        return identity(f"session {self._first()}")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main(store: str, home: str, seed: str, first: str, steps: str, patch: str) -> None:
    exec(patch, {})  # breaks the product on purpose
    for ack in Work(Path(store), Path(home), int(first)).steps(random.Random(int(seed)), steps.split()):
        print(json.dumps(ack), flush=True)


# -- cutting


def power_cuts(folder: Path, kind: str, cuts: int, seed: int, steps: str = EVERY_STEP, patch: str = "") -> list[str]:
    """Complaints after so many cuts; none if everything that was acknowledged is there each time."""
    chance = random.Random(seed)
    for done in range(0, cuts, CUTS_PER_DISK):
        options = OPTIONS[kind][done // CUTS_PER_DISK % len(OPTIONS[kind])]
        disk = Loop(kind, folder / f"{kind}{done}", options)
        if found := _cut_one_disk(disk, min(CUTS_PER_DISK, cuts - done), chance, [steps, patch]):
            return [f"{kind} ({options}), seed {seed}, after {done} cuts and more", *found]
        shutil.rmtree(disk.folder)
    return []


def _cut_one_disk(disk: Loop, cuts: int, chance: random.Random, how: list[str]) -> list[str]:
    acks: list[Ack] = []
    for number in range(cuts):
        name = f"store{number // CUTS_PER_STORE}"
        home = disk.folder / f"home{number // CUTS_PER_STORE}"
        acks = acks if number % CUTS_PER_STORE else []
        with disk.mounted() as place:
            acks += _work_until_cut(place, place / name, home, number * 100, chance, how)
        with disk.mounted() as place:
            if found := missing(place / name, home, acks, disk.folder / "back"):
                shutil.copytree(place / name, disk.folder / "kept")
                return [f"cut {number}; the store is at {disk.folder / 'kept'}", *found]
    return []


def _work_until_cut(
    place: Path, store: Path, home: Path, first: int, chance: random.Random, how: list[str]
) -> list[Ack]:
    """Cut right after an acknowledgement, when a forgotten sync shows, or a moment later, in the midst of a write."""
    words = [str(store), str(home), str(chance.randrange(1 << 30)), str(first), *how]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.power", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home.parent / "nobody"),
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )
    assert process.stdout
    acks = [json.loads(process.stdout.readline() or _explain(process)) for _ in range(chance.randint(1, 12))]
    time.sleep(chance.choice([0, chance.random() * 0.05]))
    cut(place, chance.choice(MODES))
    time.sleep(chance.choice([0, 0.02]))  # a worker that goes on as if nothing had happened may acknowledge more
    rest = _drain(process)
    return acks + rest


def _explain(process: subprocess.Popen[bytes]) -> str:
    raise AssertionError(process.communicate()[1].decode())


def _drain(process: subprocess.Popen[bytes]) -> list[Ack]:
    """Kill the worker; whole lines that it still said count."""
    assert process.stdout
    os.set_blocking(process.stdout.fileno(), False)
    said = b""
    while piece := process.stdout.read():
        said += piece
    kill(process)
    return [json.loads(line) for line in said.split(b"\n")[:-1]]


# -- asking


def missing(store: Path, home: Path, acks: list[Ack], into: Path) -> list[str]:
    """What was acknowledged and is not there, or is damaged, with no source to be had.

    The index is built anew first if it was damaged on purpose, and in the end in any case: what was current when a
    rewritten source came in may be a version that only a new index knows."""
    archive = Archive(store, {"HOME": str(home.parent / "nobody")})
    numbers = {int(ack["number"]) for ack in acks if ack["do"] == "inscribe"}
    rewritten = {int(ack["number"]) for ack in acks if ack["do"] == "rewrite"}
    try:
        if [ack["do"] for ack in acks if ack["do"] in ("damage", "repair")][-1:] == ["damage"]:
            archive.reindex()
        found = _missing_of_all(archive, numbers - rewritten, acks, into)
        archive.reindex()
        return found + _missing_of_all(archive, numbers, acks, into) + _damaged(archive, numbers)
    except MunimentError as error:
        return [f"not even asked: {error.message}"]


def _damaged(archive: Archive, numbers: set[int]) -> list[str]:
    checked = archive.check_stored([identity(f"session {number}") for number in sorted(numbers)])
    return [f"after reindex: {report}"[:500] for report in checked if not report.lossless]


def _missing_of_all(archive: Archive, numbers: set[int], acks: list[Ack], into: Path) -> list[str]:
    found: list[str] = []
    for number in sorted(numbers):
        own = [ack for ack in acks if ack.get("number") == number]
        try:
            found += [f"session {number}: {what}" for what in _missing_of(archive, number, own, into)]
        except MunimentError as error:
            found.append(f"session {number}: {error.message}")
    return found


def _missing_of(archive: Archive, number: int, acks: list[Ack], into: Path) -> Iterator[str]:
    session = archive.session(identity(f"session {number}"))
    shutil.rmtree(into, ignore_errors=True)
    for version in (None, *archive.versions(session)):
        archive.restore(session.session_id, Target(to=into / (version or "now")), version=version)
    back = [path.read_bytes() for path in into.rglob(f"{session.session_id}*") if path.is_file()]
    for ack in acks:
        if ack["do"] == "inscribe" and ack["sha256"] not in [_sha256(data[: int(ack["size"])]) for data in back]:
            yield f"{ack['size']} acknowledged bytes do not come back (but {[*map(len, back)]})"
    if not archive.search(Query(text=needle(number))) and not archive.search(Query(text=needle(number + 50_000))):
        yield "search does not find it"
    if any(ack["do"] == "ingest" for ack in acks) and session.session_id not in _ingested(archive):
        yield "its engagements are gone"
    if not {str(ack["value"]) for ack in acks if ack["do"] == "fork"} <= edits.continued(archive.layout).keys():
        yield "that it was forked is forgotten"
    entry = archive.roster().of(session.session_id)
    yield from _older("tag", acks, next(iter(archive.tags(session.session_id)), ""))
    yield from _older("register", acks, entry.agent_name or "" if entry else "")


def _ingested(archive: Archive) -> set[str]:
    return {record.session_id for record in archive.engagements()}


def _older(do: str, acks: list[Ack], there: str) -> Iterator[str]:
    """A decision that is gone. One that was under way may stand in place of the last one."""
    said = [str(ack["value"]) for ack in acks if ack["do"] == do]
    if said and (not there or int(there.strip(LETTERS)) < int(said[-1].strip(LETTERS))):
        yield f"{do} is {there!r}, not {said[-1]!r}"


if __name__ == "__main__":
    main(*sys.argv[1:])
