"""`make quality`: how well extractors find what careful readers found, and whether context packs hold what a successor
needs, beside trivial baselines.

python -m tests.quality [CORPUS]        the table
python -m tests.quality [CORPUS] --fit  learn the weights of the offline extractor anew and print them
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from muniment.ingest import identity, offline
from muniment.ingest.offline.weights import WEIGHTS
from muniment.ingest.skeleton import Skeleton
from muniment.model.engagements import Engagement
from muniment.store.roster import Roster
from tests.quality import gold, learn, usefulness
from tests.quality.gold import Label
from tests.quality.measures import Found, Score, score

EVERY = (3, 5)
_UNPACK = Path(__file__).parents[3] / "shared" / "corpus" / "unpack"


def main(arguments: Sequence[str]) -> None:
    with _corpus([Path(word) for word in arguments if not word.startswith("-")]) as corpus:
        sets = [gold.labels(), gold.labels(gold.LATER)]
        labels = [label for part in sets for label in part]
        sessions = gold.sessions(corpus, labels)
        examples = [learn.rows(*pair) for pair in zip(sessions, labels, strict=True)]
        if "--fit" in arguments:
            print("WEIGHTS =", learn.fit(examples))
            return
        others = list(learn.left_out(examples))
        for part in (slice(len(sets[0])), slice(len(sets[0]), None)):
            _print_set(labels[part])
            _print_table(_rows(sessions[part], labels[part], others[part]))
        _print_readers(sets[0])
        _print_time(corpus)
        usefulness.print_table(corpus)


@contextmanager
def _corpus(given: Sequence[Path]) -> Iterator[Path]:
    """The real sessions: the folder that was given, else unpacked from beside the project."""
    if given:
        yield given[0]
        return
    if not _UNPACK.exists():
        raise SystemExit("the real sessions are not beside the project (../shared/corpus); name their folder")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(_UNPACK), folder], check=True, stdout=subprocess.DEVNULL)
        yield Path(folder)


# -- what is compared


def _rows(
    sessions: Sequence[Skeleton], labels: Sequence[Label], others: Sequence[Sequence[float]]
) -> Iterator[tuple[str, Score]]:
    names = [identity.resolve(one, Roster()).name for one in sessions]
    yield "one engagement per session", score([_whole(label, None) for label in labels], labels)
    for turns in EVERY:
        yield f"every {turns} turns", score([_whole(label, turns) for label in labels], labels)
    yield f"{offline.NAME}, sessions left out", score(_offline(sessions, others, names), labels)
    yield f"{offline.NAME}, as it is", score(_offline(sessions, [WEIGHTS] * len(sessions), names), labels)


def _whole(label: Label, turns: int | None) -> Found:
    """Engagements of the same length, called what is commonest."""
    starts = range(1, label.rounds + 1, turns or label.rounds)
    ranges = [(start, min(start + (turns or label.rounds) - 1, label.rounds)) for start in starts]
    return Found(tuple(Engagement(topic="", method="build", phase="completed", turn_ranges=(one,)) for one in ranges))


def _offline(
    sessions: Sequence[Skeleton], weights: Sequence[Sequence[float]], names: Sequence[str | None]
) -> list[Found]:
    made = (offline.extract(*pair) for pair in zip(sessions, weights, strict=True))
    return [Found(one.engagements, name) for one, name in zip(made, names, strict=True)]


# -- what is printed


def _print_set(labels: Sequence[Label]) -> None:
    rounds = sum(label.rounds for label in labels)
    engagements = sum(len(label.engagements) for label in labels)
    boundaries = sum(len(label.starts) for label in labels)
    print(f"\n{len(labels)} sessions, {rounds} rounds, {engagements} engagements, {boundaries} boundaries")


def _print_table(rows: Iterator[tuple[str, Score]]) -> None:
    heads = ("precision", "recall", "F1 ±1", "Pk", "method", "phase", "identity")
    print(f"{'extractor':34}" + "".join(f"{head:>10}" for head in heads))
    for name, one in rows:
        figures = (one.precision, one.recall, one.f1, one.pk, one.method, one.phase, one.identity)
        print(f"{name:34}" + "".join(f"{figure:10.2f}" for figure in figures))


def _print_readers(labels: Sequence[Label]) -> None:
    """What another careful reader reaches, on the sessions that both read."""
    second = gold.labels("second_reader.json")
    first = [next(label for label in labels if label.file == other.file) for other in second]
    one = score([_found(label) for label in second], first)
    print(f"\ntwo readers, {len(second)} sessions: F1 {one.f1:.2f}, method {one.method:.2f}, phase {one.phase:.2f}")


def _found(label: Label) -> Found:
    made = (
        Engagement(topic=one.topic, method=one.method, phase=one.phase, turn_ranges=one.ranges)  # pyright: ignore[reportArgumentType]
        for one in label.engagements
    )
    return Found(tuple(made), label.agent_name)


def _print_time(corpus: Path) -> None:
    """It must read whatever there is."""
    sessions = list(gold.everything(corpus))
    began = time.process_time()
    made = sum(len(offline.extract(one).engagements) for one in sessions)
    seconds = time.process_time() - began
    turns = sum(len(one.turns) for one in sessions)
    print(f"all {len(sessions)} transcripts, {turns} rounds: {made} engagements in {seconds:.2f} s of processor time")


if __name__ == "__main__":
    main(sys.argv[1:])
