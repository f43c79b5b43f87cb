"""What muniment promises about its cost, and whether a run of the bench held it."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from . import appends
from .compare import Comparison, Outcome
from .mcp import McpTimes
from .recording import Recording
from .scanning import Scanned
from .sources import SMALL, Speeds
from .understanding import Understanding
from .viewing import Viewing

THIRD_OF_AGENTSVIEW = 1 / 3
NOTHING_NEW_SECONDS = 0.35
READING_SECONDS = 0.25
STORE_TO_SOURCE = 1.4
MEMORY_MIB = 256
TO_WRITE_AND_FSYNC = 1.4
RESUME_SECONDS = 1.0
LONG_TO_YOUNG = 1.5
"""An append costs the same however long the session; half as much again is what the noise of a busy machine may add."""
HISTORY_MS = 5.0
INGESTING_TO_INSCRIBING = 0.5
COLD_SEARCH_SECONDS = 0.25
WARM_SEARCH_MS = 10.0
FOUND_SECONDS = 2.0
IDLE_PERCENT = 1.0
SOURCE_MB_PER_SECOND = 15.0
AFTER_START_MS = 300.0
FIRST_VIEW_MS = 1000.0
OPENING_MS = 500.0
TYPED_MS = 150.0
FRAMES_PER_SECOND = 50.0
SCANNING_SECONDS = 0.1


@dataclass(frozen=True)
class Judged:
    """One promise beside what was measured; None when it could not be measured."""

    promise: str
    limit: float
    measured: float | None
    unit: str
    at_least: bool = False
    """Whether the limit is the least that is promised, not the most."""

    @property
    def sign(self) -> str:
        return "≥" if self.at_least else "≤"

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        held = self.measured >= self.limit if self.at_least else self.measured <= self.limit
        return "held" if held else "**missed**"


def judge(comparisons: list[Comparison]) -> list[Judged]:
    """Every promise against every tree it speaks of; time is judged on the first, that of many sessions."""
    return [
        *(judge_time(many) for many in comparisons[:1]),
        *(judged for many in comparisons[:1] for judged in judge_short_commands(many)),
        *(judge_store(comparison) for comparison in comparisons),
        *(judge_memory(comparison) for comparison in comparisons),
    ]


def judge_time(comparison: Comparison) -> Judged:
    ours, theirs = comparison.whole("muniment"), comparison.whole("agentsview")
    ratio = ours.best / theirs.best if ours and theirs else None
    words = f"first run over {comparison.tree.title}, time against agentsview"
    return Judged(words, THIRD_OF_AGENTSVIEW, ratio, "x")


def judge_short_commands(many: Comparison) -> Iterator[Judged]:
    words = f"run with nothing new on {many.tree.sessions} sessions"
    yield Judged(words, NOTHING_NEW_SECONDS, median_of(many, many.again.get("muniment")), "s")
    for command in ("sessions", "show last"):
        words = f"`muniment {command}` on {many.tree.sessions} sessions, new process"
        yield Judged(words, READING_SECONDS, median_of(many, many.commands.get(command)), "s")


def judge_store(comparison: Comparison) -> Judged:
    tree, ours = comparison.tree, comparison.whole("muniment")
    share = ours.kept_bytes / tree.source_bytes if ours else None
    return Judged(f"store against source, {tree.title}", STORE_TO_SOURCE, share, "x")


def judge_memory(comparison: Comparison) -> Judged:
    ours = comparison.first.get("muniment")
    # A run that was cut off for its memory has missed the promise all the same.
    known = comparison.whole("muniment") or (ours if ours and ours.stopped else None)
    words = f"peak memory, first run over {comparison.tree.title}"
    return Judged(words, MEMORY_MIB, known.peak_bytes / 2**20 if known else None, "MiB")


def median_of(comparison: Comparison, outcome: Outcome | None) -> float | None:
    """The median of a short command, which means something only on a whole store."""
    return outcome.median if outcome and outcome.complete and comparison.whole("muniment") else None


def judge_recording(recording: Recording) -> list[Judged]:
    """Every promise of the recorder; a rival that is not there leaves its promises unmeasured."""
    return [*judge_appends(recording), *judge_growth(recording), *judge_resuming(recording), judge_history(recording)]


def judge_appends(recording: Recording) -> Iterator[Judged]:
    alone, together = recording.of(appends.ALONE), recording.of(appends.TOGETHER)
    accepted = recording.of(appends.ACCEPTED)
    ratio = alone.ratio(appends.BARE, appends.MUNIMENT)
    yield Judged("durable append of 1 kB, time against a bare write and fsync", TO_WRITE_AND_FSYNC, ratio, "x")
    tasks = together.ratio(appends.AWAITED, appends.SQLITE_SESSION)
    yield Judged("durable appends of eight tasks of a loop, rate against SQLiteSession", 5.0, tasks, "x", at_least=True)
    for words, rates, theirs, least in (
        ("durable appends, rate against SQLiteSession", alone, appends.SQLITE_SESSION, 1.0),
        ("durable appends of eight threads, rate against SQLiteSession", together, appends.SQLITE_SESSION, 5.0),
        ("accepted appends, rate against SQLiteSession", accepted, appends.SQLITE_SESSION, 5.0),
        ("accepted appends, rate against langgraph-checkpoint-sqlite", accepted, appends.SQLITE_SAVER, 3.0),
        ("accepted appends, rate against a bare lock and write", accepted, appends.BARE, 0.5),
    ):
        yield Judged(words, least, rates.ratio(appends.MUNIMENT, theirs), "x", at_least=True)


def judge_growth(recording: Recording) -> Iterator[Judged]:
    ratio = recording.of(appends.GROWTH).ratio(appends.YOUNG, appends.LONG)
    yield Judged("append at 200,000 events, time against one at 1,000", LONG_TO_YOUNG, ratio, "x")


def judge_resuming(recording: Recording) -> Iterator[Judged]:
    calls, outcome = recording.resume_calls, recording.resumed
    yield Judged("resuming a transcript of 70 MB", RESUME_SECONDS, median(calls) if calls else None, "s")
    peak = outcome.peak_bytes / 2**20 if outcome.complete or outcome.stopped else None
    yield Judged("peak memory, resuming a transcript of 70 MB", MEMORY_MIB, peak, "MiB")


def judge_history(recording: Recording) -> Judged:
    """By the slowest: as one file or rotated, the first call or the later ones."""
    asked = [time for asked in recording.histories.values() for time in (asked.first, asked.p95)]
    return Judged("the latest 50 prompts of a history of 1 GiB", HISTORY_MS, max(asked, default=None), "ms")


def judge_understanding(measured: Understanding) -> list[Judged]:
    """Every promise of ingestion, search and watch."""
    found, tree = measured.search, measured.tree.title
    return [
        Judged(f"ingesting {tree} offline, time against inscribing it", INGESTING_TO_INSCRIBING, measured.share, "x"),
        Judged("a search in a new process", COLD_SEARCH_SECONDS, found.cold_seconds, "s"),
        Judged(f"a search in the library, 95 % of {found.queries} queries", WARM_SEARCH_MS, found.p95_ms, "ms"),
        Judged("watch: new text is found after", FOUND_SECONDS, max(measured.latency.seconds), "s"),
        Judged("watch: idle, part of a core", IDLE_PERCENT, measured.idle.share_with_rescans * 100, "%"),
    ]


def judge_sources(speeds: Speeds) -> Iterator[Judged]:
    """The slowest source, and the small files, which no source can help."""
    for words, chosen in (
        ("the slowest source", [speed for speed in speeds.of if speed.name != SMALL]),
        (f"{SMALL} of any source", [speed for speed in speeds.of if speed.name == SMALL]),
    ):
        if slowest := min(chosen, key=lambda speed: speed.megabytes_per_second, default=None):
            told = f"inscribing {words} on one core ({slowest.tree.title})"
            yield Judged(told, SOURCE_MB_PER_SECOND, slowest.megabytes_per_second, "MB/s", at_least=True)
    heaviest = max((speed.peak_bytes for speed in speeds.of), default=0)
    yield Judged("peak memory, inscribing any source", MEMORY_MIB, heaviest / 2**20, "MiB")


def judge_mcp(times: McpTimes) -> list[Judged]:
    """A real client over the archive."""
    return [
        Judged("MCP: the first search after the start of the server", AFTER_START_MS, times.first_ms, "ms"),
        Judged("MCP: peak memory of the server", MEMORY_MIB, times.peak_mib, "MiB"),
    ]


def judge_scanning(scanned: list[Scanned]) -> Judged:
    """By the kind of text that takes longest."""
    slowest = max((one.seconds for one in scanned), default=None)
    return Judged("looking for secrets, 1 MB of any text", SCANNING_SECONDS, slowest, "s")


def judge_viewing(viewing: Viewing) -> Iterator[Judged]:
    """Our page; the worst counts where something is promised of any session."""
    ours = viewing.pages[0]
    yield Judged("viewer: first view, median", FIRST_VIEW_MS, median_or_none(ours.first_view), "ms")
    yield Judged("viewer: opening any session", OPENING_MS, max(ours.in_page.values(), default=None), "ms")
    yield Judged("viewer: search after the last key, median", TYPED_MS, median_or_none(ours.search), "ms")
    for words, rate in (
        ("scrolling the list", ours.list_fps),
        ("scrolling the largest session", ours.session_fps),
        ("zooming the timeline", ours.timeline_fps),
    ):
        yield Judged(f"viewer: {words}", FRAMES_PER_SECOND, rate or None, "fps", at_least=True)
    yield Judged("viewer: peak memory of the server", MEMORY_MIB, ours.server_bytes / 2**20, "MiB")


def median_or_none(values: list[float]) -> float | None:
    return median(values) if values else None
