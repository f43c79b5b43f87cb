"""Measure muniment against its rivals: `python -m bench [--large] [--quick] [--only PART]`, from the project's root.

Everything it makes lies below `.bench/`, the report excepted. A missed promise is a figure in the report; the
exit code is 1 only when something could not be run at all.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from . import machine
from .compare import Arena, Comparison, told
from .contenders import Agentsview, ClaudeCodeLog, Contender, NotInstalled, muniment_at, rival
from .process import Ceiling
from .promises import judge, judge_recording, judge_understanding
from .recording import record_all
from .report import Report
from .trees import Corpus, NoCorpus
from .understanding import Understanding, understand

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".bench"
AGENTSVIEW = "0.46.1"
CLAUDE_CODE_LOG = "1.7.0"
SIZES = {"many": "300M", "one": "70M", "large": "2G"}
QUICK_SIZES = {"many": "30M", "one": "7M", "large": "200M"}
CEILING = Ceiling(seconds=600, memory_bytes=min(8 * 2**30, machine.memory_bytes() // 2))


def main() -> int:
    # A terminated bench unwinds like an interrupted one, and so ends the command it is measuring.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    options = parse_options()
    facts = machine.facts() | {"load before the run": f"{machine.load():.1f}"}
    # Before the inscribing, which leaves the file system with much to do.
    recording = record_all(python_beside(options.muniment), WORK, CEILING) if wanted(options, "recording") else None
    try:
        contenders, missing, comparisons = inscribe_all(options) if wanted(options, "inscribing") else ([], [], [])
        understanding = understand_all(options) if wanted(options, "understanding") else None
    except NoCorpus as absent:
        told(f"bench: nothing inscribed, {absent}")
        return 1
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    judged = [
        *judge(comparisons),
        *(judge_understanding(understanding) if understanding else []),
        *(judge_recording(recording) if recording else []),
    ]
    broken = [*missing, *(recording.failures if recording else [])]
    unrun = [*broken, *(recording.missing if recording else [])]
    publish(Report(date, facts, contenders, unrun, comparisons, understanding, recording, judged), options)
    return 1 if broken else 0


def wanted(options: argparse.Namespace, part: str) -> bool:
    return options.only in (None, part)


def understand_all(options: argparse.Namespace) -> Understanding:
    sizes = QUICK_SIZES if options.quick else SIZES
    tree = Corpus(options.corpus, WORK).many(sizes["many"])
    return understand(options.muniment, tree, WORK / f"understanding-{os.getpid()}", options.quick)


def python_beside(muniment: Path) -> Path:
    return muniment.parent / "python"


def inscribe_all(options: argparse.Namespace) -> tuple[list[Contender], list[str], list[Comparison]]:
    """Who took part, what could not be run, and what the trees cost each."""
    contenders, missing = available(options.muniment)
    arena = Arena(WORK / f"homes-{os.getpid()}", contenders, CEILING)
    try:
        comparisons = compare_all(arena, options)
    finally:
        arena.clear()
    return contenders, missing + failures(comparisons), comparisons


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("bench", description=__doc__.splitlines()[0] if __doc__ else None)
    beside = Path(sys.executable).parent / "muniment"
    parser.add_argument("--muniment", type=Path, default=beside, help="the command to measure")
    parser.add_argument("--corpus", type=Path, default=ROOT.parent / "shared" / "corpus", help="real sessions")
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "benchmarks.md")
    parser.add_argument("--large", action="store_true", help="also one session of 2 GB")
    parser.add_argument("--quick", action="store_true", help="a tenth of each size, no report: to try the bench itself")
    parser.add_argument("--only", choices=["inscribing", "understanding", "recording"], help="one part, and no report")
    return parser.parse_args()


def available(muniment: Path) -> tuple[list[Contender], list[str]]:
    """The contenders that can be had here, and a word for each that cannot."""
    ways: list[Callable[[], Contender]] = [
        lambda: muniment_at(muniment),
        lambda: rival(Agentsview, AGENTSVIEW, WORK),
        lambda: rival(ClaudeCodeLog, CLAUDE_CODE_LOG, WORK),
    ]
    contenders: list[Contender] = []
    missing: list[str] = []
    for way in ways:
        try:
            contenders.append(way())
        except NotInstalled as absent:
            missing.append(str(absent))
            told(f"bench: {absent}")
    return contenders, missing


def compare_all(arena: Arena, options: argparse.Namespace) -> list[Comparison]:
    corpus = Corpus(options.corpus, WORK)
    sizes = QUICK_SIZES if options.quick else SIZES
    comparisons = [arena.compare(corpus.many(sizes["many"])), arena.compare(corpus.one(sizes["one"]))]
    if options.large:
        comparisons.append(arena.compare(corpus.one(sizes["large"]), rounds=1))
    return comparisons


def failures(comparisons: list[Comparison]) -> list[str]:
    """A word for each task that failed and for each first run that left sessions out: its speed means nothing."""
    words: list[str] = []
    for comparison in comparisons:
        tree = comparison.tree
        for tasks in (comparison.first, comparison.again, comparison.commands):
            words += [f"{name} failed on {tree.title}" for name, outcome in tasks.items() if outcome.failed]
        for name, outcome in comparison.first.items():
            if outcome.complete and not comparison.whole(name):
                words.append(f"{name} holds only {outcome.taken_in} of {tree.title}")
    return words


def publish(report: Report, options: argparse.Namespace) -> None:
    print(report.summary())
    if options.quick or options.only:
        print(report.markdown())
        return
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(report.markdown(), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
