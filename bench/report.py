"""The whole of `docs/benchmarks.md`, and the lines for the terminal, from what was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .compare import REPEATS, Comparison, Outcome
from .contenders import Contender
from .part import Part
from .promises import Judged
from .tables import figure, table

HEADER = """\
# Benchmarks

Written whole by `make bench`; do not edit. A missed promise stays in the table until it is held."""

METHOD = f"""\
## What was measured, and how

The input is grown from real, published Claude Code sessions, with new identities and otherwise the original bytes; the
same arguments always grow the same tree. Every tool gets the same files as `~/.claude/projects` of a home folder of its
own and a bare environment. All tools run in this one run, turn about, in alternating order, with the files in the page
cache. Before that the bench waits, at most seven minutes, until files that were deleted earlier no longer make new ones
dearer. What is written in Python, rivals included, runs on the fastest Python of the machine (`bench/fastest.py`):
builds without profile-guided optimisation, as pyenv makes them by default, are about a tenth slower.

- **First run**: from an empty data folder to the end of the process; best and worst of the runs.
- **Nothing new**: the same command again; the median of {REPEATS} runs.
- **Reading commands**: a new process each, output to a file; the median of {REPEATS} runs.
- **CPU** is user and system time of the process and its children, which other work on the machine moves less than wall
  time.
- **Peak memory** is resident memory of the process and all its children, sampled every 20 ms in the first of the runs
  (the timed ones are not disturbed by it), each shared page counted once, and never less than the kernel's own maximum
  for one process.
- **Data kept** is what the tool wrote, the larger of file lengths and allocated blocks.
- **Sessions** are those that the tool itself holds after the run (muniment: documents in its store; the others: main
  files in their database), out of those in the tree.

The tools do not do the same work:

"""


@dataclass(frozen=True)
class Report:
    date: str
    machine: Mapping[str, str]
    parts: Sequence[Part]

    @property
    def judged(self) -> list[Judged]:
        return [judged for part in self.parts for judged in part.judged]

    @property
    def unrun(self) -> list[str]:
        return [words for part in self.parts for words in (*part.broken, *part.missing)]

    def markdown(self) -> str:
        sections = [section for part in self.parts for section in part.sections]
        return "\n\n".join(part.strip() for part in [HEADER, self._machine(), self._promises(), *sections]) + "\n"

    def summary(self) -> str:
        """What the terminal shows: the promises, and what could not be run."""
        width = max((len(row.promise) for row in self.judged), default=0)
        lines = [
            f"{row.promise:<{width}}  {figure(row.measured, row.unit):>10}  "
            f"({row.sign} {figure(row.limit, row.unit)})  {row.verdict.strip('*')}"
            for row in self.judged
        ]
        return "\n".join([*lines, *(f"could not be run: {words}" for words in self.unrun)])

    def _machine(self) -> str:
        versions = {name: version for part in self.parts for name, version in part.versions.items()}
        rows = [("date", self.date), *self.machine.items(), *versions.items()]
        return "## Machine\n\n" + table(["", ""], rows)

    def _promises(self) -> str:
        rows = [
            (row.promise, f"{row.sign} {figure(row.limit, row.unit)}", figure(row.measured, row.unit), row.verdict)
            for row in self.judged
        ]
        notes = "".join(f"\n\nCould not be run: {words}." for words in self.unrun)
        return "## Promises\n\n" + table(["promise", "limit", "measured", ""], rows) + notes


def inscribing_sections(contenders: Sequence[Contender], comparisons: Sequence[Comparison]) -> list[str]:
    """How it was measured, then tree by tree."""
    method = METHOD + "\n".join(f"- **{c.name}**: {c.work}." for c in contenders)
    return [method, *(scenario(comparison) for comparison in comparisons)]


def scenario(comparison: Comparison) -> str:
    tree = comparison.tree
    parts = [f"## {tree.title}", f"Bytes: {tree.source_bytes:,}; files: {tree.files}.", "### First run"]
    parts += [first_runs(comparison), ratios(comparison)]
    if comparison.again:
        parts += ["### Nothing new", short_runs(comparison.again)]
    if comparison.commands:
        parts += ["### Reading commands of muniment", short_runs(comparison.commands)]
    return "\n\n".join(part for part in parts if part)


def first_runs(comparison: Comparison) -> str:
    heads = ["", "best", "worst", "CPU", "peak memory", "data kept", "data ÷ source", "sessions"]
    return table(heads, [[name, *first_figures(o, comparison)] for name, o in comparison.first.items()])


def ratios(comparison: Comparison) -> str:
    """muniment's cost as a part of each rival's; empty when there is nothing to compare."""
    ours = comparison.first.get("muniment")
    rivals = {name: o for name, o in comparison.first.items() if o is not ours and o.complete}
    if not (ours and ours.complete and rivals):
        return ""
    rows = [[f"muniment ÷ {name}", *ratio_figures(ours, theirs)] for name, theirs in rivals.items()]
    return table(["", "time", "CPU", "peak memory", "data kept"], rows)


def ratio_figures(ours: Outcome, theirs: Outcome) -> list[str]:
    pairs = [
        (ours.best, theirs.best),
        (ours.cpu_seconds, theirs.cpu_seconds),
        (ours.peak_bytes, theirs.peak_bytes),
        (ours.kept_bytes, theirs.kept_bytes),
    ]
    return [f"{mine / other:.2f}" for mine, other in pairs]


def first_figures(outcome: Outcome, comparison: Comparison) -> list[str]:
    if not outcome.complete:
        peak = f"{outcome.peak_bytes / 2**20:.0f} MiB" if outcome.runs else ""
        return [outcome.stopped or "failed", "", "", peak, "", "", ""]
    tree = comparison.tree
    return [
        figure(outcome.best, "s"),
        figure(outcome.worst, "s"),
        figure(outcome.cpu_seconds, "s"),
        figure(outcome.peak_bytes / 2**20, "MiB"),
        f"{outcome.kept_bytes / 1e6:.0f} MB",
        f"{outcome.kept_bytes / tree.source_bytes:.2f}",
        f"{outcome.taken_in} of {tree.sessions}",
    ]


def short_runs(outcomes: Mapping[str, Outcome]) -> str:
    rows = [
        (name, figure(o.median, "s"), figure(o.best, "s"), figure(o.worst, "s"), figure(o.peak_bytes / 2**20, "MiB"))
        if o.complete
        else (name, o.stopped or "failed", "", "", "")
        for name, o in outcomes.items()
    ]
    return table(["", "median", "best", "worst", "peak memory"], rows)
