"""How fast each source is inscribed on one core, and what it holds in memory meanwhile.

Small files cost more than their bytes say, so there is a tree of those as well, of the source that has most of them.
"""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from muniment.sources import all_sources

from .compare import told
from .process import Ceiling, Run, measure
from .shapes import SPOKEN, grown
from .tables import figure, table
from .trees import Corpus, Tree, described, discard, fresh, has_uuid, settle, warm

BYTES = 60_000_000
QUICK_BYTES = 4_000_000
ROUNDS = 5
SMALL_BYTES = 40_000
SMALL_FILES = 1_000
SMALL = "small files"
ONE_CORE = ("taskset", "--cpu-list", "0")

METHOD = f"""\
## Every source

One `muniment inscribe` of a tree of each source into a new archive, one tree after the other and all again, best of
{ROUNDS} runs. Megabytes are those of the source files; the program is held to one core, and its time is processor time,
its own start included. Trees are copies of real sessions under new ids, where the corpus has enough of a source; else
real Claude Code sessions told again in its format: {BYTES // 1_000_000} MB of each. The last tree has sessions of at
most {SMALL_BYTES // 1000} kB: there the files of a session in the store cost more than its bytes. Archives are written
to a memory disk where there is one: for minutes after files were deleted, ext4 without a journal spends up to half of
a run on finding places for new ones, and it is the program that is measured here.
"""

MEMORY_DISK = Path("/dev/shm")
MEMORY_BYTES = 2_000_000_000
"""That must be free there; an archive needs a tenth of it."""


@dataclass
class Speed:
    """What a tree cost."""

    name: str
    tree: Tree
    runs: list[Run] = field(default_factory=list)

    @property
    def megabytes_per_second(self) -> float:
        return self.tree.source_bytes / 1e6 / min(run.cpu_seconds for run in self.runs)

    @property
    def milliseconds_per_session(self) -> float:
        return min(run.cpu_seconds for run in self.runs) * 1000 / max(1, self.tree.sessions)

    @property
    def peak_bytes(self) -> int:
        return max(run.peak_bytes for run in self.runs)


@dataclass(frozen=True)
class Speeds:
    of: list[Speed]
    failures: list[str]


def inscribe_every_source(muniment: Path, corpus: Corpus, ceiling: Ceiling, quick: bool) -> Speeds:
    """Every source there is, and the small files."""
    size = QUICK_BYTES if quick else BYTES
    trees = {source.name: grown(source, corpus, size) for source in all_sources()}
    trees[SMALL] = small_files(corpus, SMALL_FILES // 10 if quick else SMALL_FILES)
    logs = corpus.work / "logs"
    work = place(corpus.work) / f"muniment-sources-{os.getpid()}"
    speeds = [Speed(name, tree) for name, tree in trees.items()]
    try:
        for number in range(1 if quick else ROUNDS):
            for speed in speeds:
                _time(speed, number, muniment, work, logs, ceiling)
    finally:
        discard(work)
    failed = [f"muniment failed on {speed.tree.title}" for speed in speeds if any(run.exit_code for run in speed.runs)]
    return Speeds(speeds, failed)


def place(otherwise: Path) -> Path:
    """Where archives are written: to a memory disk, if there is one with room."""
    if not os.access(MEMORY_DISK, os.W_OK) or shutil.disk_usage(MEMORY_DISK).free < MEMORY_BYTES:
        settle(otherwise)
        return otherwise
    return MEMORY_DISK


def _time(speed: Speed, number: int, muniment: Path, work: Path, logs: Path, ceiling: Ceiling) -> None:
    """One run. All trees have one before any has its next: a slow minute of the machine is nobody's alone."""
    warm(speed.tree)
    home = fresh(work / f"{speed.name}-{number}")
    command = [*ONE_CORE, str(muniment), "--store", str(home / "store"), "inscribe", str(speed.tree.projects)]
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    speed.runs.append(measure(command, env, logs / f"source-{speed.name}.log", ceiling, fine=number == 0))
    if work.parent == MEMORY_DISK:  # elsewhere what is deleted makes the next run dearer
        shutil.rmtree(home)
    told(f"  {speed.name}: {speed.megabytes_per_second:.1f} MB/s, {speed.peak_bytes / 2**20:.0f} MiB")


def small_files(corpus: Corpus, count: int) -> Tree:
    """So many small sessions, from the tree that has the real sizes."""
    place = corpus.work / "trees" / f"small-{count}"
    if not place.is_dir():
        unfinished = fresh(place.with_name(f"{place.name}.part"))
        found = sorted(path for path in corpus.unpacked.joinpath(SPOKEN).rglob("*.jsonl") if has_uuid(path))
        small = [path for path in found if 2_000 < path.stat().st_size <= SMALL_BYTES]
        for number in range(count):
            path = small[number % len(small)]
            old, new = path.stem, f"{number:08x}{path.stem[8:]}"
            target = unfinished / f"-home-dev-{number % 50}" / f"{new}.jsonl"
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))
        unfinished.rename(place)
    return described(place)


def sources_section(speeds: Speeds) -> str:
    """For `docs/benchmarks.md`."""
    heads = ["", "sessions", "size", "MB in a core's second", "a session", "peak memory"]
    rows = [
        (
            speed.name,
            str(speed.tree.sessions),
            f"{speed.tree.source_bytes / 1e6:.0f} MB",
            f"{speed.megabytes_per_second:.1f}",
            figure(speed.milliseconds_per_session, "ms"),
            figure(speed.peak_bytes / 2**20, "MiB"),
        )
        for speed in speeds.of
    ]
    return f"{METHOD}\n" + table(heads, rows)
