"""Understanding and finding: ingestion beside inscription, search cold and warm, and a watch at rest and at work."""

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from .searching import SearchTimes, search_times
from .tables import figure, table
from .trees import Tree, discard
from .watching import Idle, Latency, Memory, World, idle, latency, memory

ROUNDS = 3
WATCHED = 10_000

METHOD = f"""\
## Understanding and finding

- **Ingestion** is `muniment ingest` over the whole archive, offline, a new process each; best of {ROUNDS} runs, beside
  the best of {ROUNDS} inscriptions of the same tree into new archives, turn about.
- **Search**: queries are drawn from the stored texts with a fixed seed: words as often as they occur, names, phrases,
  two words, prefixes, and East Asian signs. Warm is the library in one process, the median of three calls for each
  query; cold is a new process, with the files in the page cache.
- **Watch**: a home of {WATCHED:,} small sessions. The time from writing a line until a search finds its word; processor
  time while nothing happens, with a look at everything every five minutes; resident memory over changes.
"""


@dataclass(frozen=True)
class Understanding:
    """What was measured of it."""

    tree: Tree
    inscribing: list[float]
    ingesting: list[float]
    search: SearchTimes
    idle: Idle
    latency: Latency
    memory: Memory

    @property
    def share(self) -> float:
        """Ingestion as a part of inscription."""
        return min(self.ingesting) / min(self.inscribing)


def understand(muniment: Path, tree: Tree, work: Path, quick: bool) -> Understanding:
    """Everything, in a folder of its own that is removed at the end."""
    work.mkdir(parents=True)
    try:
        inscribing, ingesting, store = _turn_about(muniment, tree, work)
        found = search_times(store)
        world = World(work / "watched", WATCHED // 10 if quick else WATCHED)
        with world.watched():
            pass  # everything is inscribed and ingested
        rest = idle(world, 5 if quick else 20)
        work_ = latency(world)
        return Understanding(tree, inscribing, ingesting, found, rest, work_, memory(world, 200 if quick else 2000))
    finally:
        discard(work)


def _turn_about(muniment: Path, tree: Tree, work: Path) -> tuple[list[float], list[float], Path]:
    inscribing: list[float] = []
    ingesting: list[float] = []
    store = work
    for number in range(ROUNDS):
        store = work / f"store-{number}"
        inscribing.append(_timed(muniment, store, "inscribe", str(tree.projects)))
        ingesting.append(_timed(muniment, store, "ingest"))
    return inscribing, ingesting, store


def _timed(muniment: Path, store: Path, *words: str) -> float:
    began = time.perf_counter()
    command = [str(muniment), "--store", str(store), *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def understanding_section(measured: Understanding) -> str:
    """For `docs/benchmarks.md`."""
    found = measured.search
    rows = [
        ("inscribing, best", figure(min(measured.inscribing), "s")),
        ("ingesting, best", figure(min(measured.ingesting), "s")),
        ("search, new process, median", figure(found.cold_seconds, "s")),
        (f"search, warm, {found.queries} queries, median", figure(found.p50_ms, "ms")),
        ("search, warm, 95th percentile", figure(found.p95_ms, "ms")),
        (f"search, warm, slowest: `{found.worst}`", figure(found.worst_ms, "ms")),
        ("queries that found something", f"{found.found} of {found.queries}"),
        ("new text found after, median", figure(median(measured.latency.seconds), "s")),
        ("new text found after, worst", figure(max(measured.latency.seconds), "s")),
        (
            f"idle, {measured.idle.sessions:,} sessions, with rescans",
            f"{measured.idle.share_with_rescans:.2%} of a core",
        ),
        *((f"watch, resident after {n:,} changes", figure(s / 2**20, "MiB")) for n, s in measured.memory.resident),
    ]
    return f"{METHOD}\n{measured.tree.title}:\n\n" + table(["", ""], rows)
