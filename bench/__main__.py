"""Measure muniment against its rivals: `python -m bench [--large] [--quick] [--only PART]`, from the project's root.

Everything it makes lies below `.bench/`, the report excepted. A missed promise is a figure in the report; the
exit code is 1 only when something could not be run at all.
"""

import argparse
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from . import machine
from .compare import Arena, Comparison, told
from .contenders import Agentsview, ClaudeCodeLog, Contender, NotInstalled, muniment_at, rival
from .mcp import mcp_section, mcp_times
from .part import Part
from .process import Ceiling
from .promises import (
    judge,
    judge_mcp,
    judge_recording,
    judge_scanning,
    judge_sources,
    judge_understanding,
    judge_viewing,
)
from .recording import record_all
from .recording_report import recording_section
from .report import Report, inscribing_sections
from .scanning import scan_every_kind, scanning_section
from .sources import inscribe_every_source, sources_section
from .trees import Corpus, NoCorpus, Tree, discard, fresh, remove_discarded
from .understanding import understand, understanding_section
from .viewing import FEWER_SESSIONS, SESSIONS, Viewing, grown, view_all, viewing_section

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
    wanted = [name for name in PARTS if options.only in (None, name)]
    try:
        # Recording goes before the inscribing, which leaves the file system with much to do.
        made = {name: measured(name, options) for name in sorted(wanted, key=lambda name: name != "recording")}
    except NoCorpus as absent:
        told(f"bench: nothing to inscribe, {absent}")
        return 1
    finally:
        remove_discarded()
    report = Report(f"{datetime.now(UTC):%Y-%m-%d}", facts, [made[name] for name in wanted])
    publish(report, options)
    return 1 if any(part.broken for part in report.parts) else 0


def measured(name: str, options: argparse.Namespace) -> Part:
    """One part; what breaks it must not cost the others their figures."""
    try:
        return PARTS[name](options)
    except NoCorpus:
        raise
    except Exception as error:
        traceback.print_exc()
        return Part([], [], broken=[f"{name}: {error}"])


def sizes(options: argparse.Namespace) -> dict[str, str]:
    return QUICK_SIZES if options.quick else SIZES


def many(options: argparse.Namespace) -> Tree:
    return Corpus(options.corpus, WORK).many(sizes(options)["many"])


@contextmanager
def own_folder(name: str) -> Iterator[Path]:
    """A folder that is removed at the end."""
    folder = fresh(WORK / f"{name}-{os.getpid()}")
    try:
        yield folder
    finally:
        discard(folder)


# -- the parts, in the order of the report


def inscribing(options: argparse.Namespace) -> Part:
    """What the trees cost us and our rivals."""
    contenders, missing = available(options.muniment)
    arena = Arena(WORK / f"homes-{os.getpid()}", contenders, CEILING)
    try:
        comparisons = compare_all(arena, options)
    finally:
        arena.clear()
    versions = {contender.name: contender.version for contender in contenders}
    broken = missing + failures(comparisons)
    return Part(inscribing_sections(contenders, comparisons), judge(comparisons), versions, broken=broken)


def sources(options: argparse.Namespace) -> Part:
    """Every source by itself."""
    speeds = inscribe_every_source(options.muniment, Corpus(options.corpus, WORK), CEILING, options.quick)
    return Part([sources_section(speeds)], [*judge_sources(speeds)], broken=speeds.failures)


def understanding(options: argparse.Namespace) -> Part:
    """Ingestion, search and watch."""
    measured = understand(options.muniment, many(options), WORK / f"understanding-{os.getpid()}", options.quick)
    return Part([understanding_section(measured)], judge_understanding(measured))


def mcp(options: argparse.Namespace) -> Part:
    """A client of the server for agents, over an archive of its own."""
    tree = many(options)
    with own_folder("mcp") as folder:
        for words in (["inscribe", str(tree.projects)], ["ingest"]):
            command = [str(options.muniment), "--store", str(folder), *words]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times = mcp_times(folder)
    return Part([mcp_section(tree, times)], judge_mcp(times))


def scanning(options: argparse.Namespace) -> Part:
    """The search for secrets."""
    scanned = scan_every_kind()
    return Part([scanning_section(scanned)], [judge_scanning(scanned)])


def viewing(options: argparse.Namespace) -> Part:
    """Our page and agentsview's in a browser."""
    corpus = Corpus(options.corpus, WORK)
    trees = [grown(corpus, number) for number in ([FEWER_SESSIONS] if options.quick else [SESSIONS, FEWER_SESSIONS])]
    seen: list[Viewing] = []
    for tree in trees:
        work = WORK / f"viewing-{os.getpid()}-{tree.sessions}"
        seen.append(view_all(options.muniment, tree, work, AGENTSVIEW, options.quick))
    missing = [words for one in seen for words in one.missing]
    return Part([viewing_section(seen)], [*judge_viewing(seen[0])], missing=missing)


def recording(options: argparse.Namespace) -> Part:
    """The recorder and its rivals."""
    made = record_all(options.muniment.parent / "python", WORK, CEILING)
    judged = judge_recording(made)
    return Part([recording_section(made)], judged, made.versions, made.missing, made.failures)


PARTS: dict[str, Callable[[argparse.Namespace], Part]] = {
    part.__name__: part for part in (inscribing, sources, understanding, mcp, scanning, viewing, recording)
}


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("bench", description=__doc__.splitlines()[0] if __doc__ else None)
    beside = Path(sys.executable).parent / "muniment"
    parser.add_argument("--muniment", type=Path, default=beside, help="the command to measure")
    parser.add_argument("--corpus", type=Path, default=ROOT.parent / "shared" / "corpus", help="real sessions")
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "benchmarks.md")
    parser.add_argument("--large", action="store_true", help="also one session of 2 GB")
    parser.add_argument("--quick", action="store_true", help="a tenth of each size, no report: to try the bench itself")
    parser.add_argument("--only", choices=[*PARTS], help="one part, and no report")
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
    comparisons = [arena.compare(corpus.many(sizes(options)["many"])), arena.compare(corpus.one(sizes(options)["one"]))]
    if options.large:
        comparisons.append(arena.compare(corpus.one(sizes(options)["large"]), rounds=1))
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
