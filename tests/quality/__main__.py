"""`make quality`: how well extractors find what careful readers found, and whether context packs hold what a successor
needs, beside trivial baselines.

python -m tests.quality [CORPUS]        the table
python -m tests.quality [CORPUS] --fit  learn the weights of the offline extractor anew and print them
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from muniment.ingest import identity, offline
from muniment.ingest.offline.weights import WEIGHTS
from muniment.ingest.skeleton import Skeleton
from muniment.model.engagements import Engagement
from muniment.store.roster import Roster
from tests.quality import gold, learn, usefulness
from tests.quality.gold import Label
from tests.quality.measures import Found, Score, score

EVERY = 3
DRAWS = 50
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
        first, later = slice(len(sets[0])), slice(len(sets[0]), None)
        for part, rest in ((first, later), (later, first)):
            across = [learn.fit(examples[rest])] * len(labels[part])
            ways = {"left out": others[part], "learned from the other set": across}
            _print_set(labels[part])
            _print_table(_rows(sessions[part], labels[part], ways))
        short = gold.labels(gold.SHORT)
        _print_set(short)
        _print_table(_rows(gold.sessions(corpus, short), short, {}))
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
    sessions: Sequence[Skeleton], labels: Sequence[Label], ways: Mapping[str, Sequence[Sequence[float]]]
) -> Iterator[tuple[str, Score]]:
    """The baselines, and the offline extractor with the weights that ship and with others."""
    names = [identity.resolve(one, Roster()).name for one in sessions]
    yield "one engagement per session", score([_cut(label, []) for label in labels], labels)
    evenly = [_cut(label, range(1 + EVERY, label.rounds + 1, EVERY)) for label in labels]
    yield f"every {EVERY} turns", score(evenly, labels)
    yield "at random, as often", _at_random(labels)
    for name, weights in {**ways, "as it is": [WEIGHTS] * len(sessions)}.items():
        yield f"{offline.NAME}, {name}", score(_offline(sessions, weights, names), labels)


def _cut(label: Label, starts: Sequence[int]) -> Found:
    """Engagements that begin where it says, called what is commonest."""
    ranges = zip([1, *starts], [*(start - 1 for start in starts), label.rounds], strict=True)
    return Found(tuple(Engagement(topic="", method="build", phase="completed", turn_ranges=(one,)) for one in ranges))


def _at_random(labels: Sequence[Label]) -> Score:
    """The mean of many draws with as many boundaries in all as there are."""
    often = sum(len(label.starts) for label in labels) / sum(label.rounds - 1 for label in labels)
    dice = random.Random(1)
    scores = [
        score([_cut(one, [at for at in range(2, one.rounds + 1) if dice.random() < often]) for one in labels], labels)
        for _ in range(DRAWS)
    ]
    return Score(*(sum(values) / DRAWS for values in zip(*map(msgspec.structs.astuple, scores), strict=True)))


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
    heads = ("precision", "recall", "F1 ±1", "Pk", "WindowDiff", "method", "phase", "identity")
    print(f"{'extractor':38}" + "".join(f"{head:>11}" for head in heads))
    for name, one in rows:
        print(f"{name:38}" + "".join(f"{figure:11.2f}" for figure in msgspec.structs.astuple(one)))


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
