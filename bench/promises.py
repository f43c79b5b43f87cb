"""What muniment promises about its cost, and whether a run of the bench held it."""

from collections.abc import Iterator
from dataclasses import dataclass

from .compare import Comparison, Outcome

THIRD_OF_AGENTSVIEW = 1 / 3
NOTHING_NEW_SECONDS = 0.35
READING_SECONDS = 0.25
STORE_TO_SOURCE = 1.4
MEMORY_MIB = 256


@dataclass(frozen=True)
class Judged:
    """One promise beside what was measured; None when it could not be measured."""

    promise: str
    limit: float
    measured: float | None
    unit: str

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        return "held" if self.measured <= self.limit else "**missed**"


def judge(comparisons: list[Comparison]) -> list[Judged]:
    """Every promise against every tree it speaks of; time is judged on the first, that of many sessions."""
    many, *_ = comparisons
    return [
        judge_time(many),
        *judge_short_commands(many),
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
