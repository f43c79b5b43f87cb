"""Is a pack useful? How many of the facts that a successor needed are in it, beside simpler ways to fill the same
room.

`facts.json` holds real sessions, each with the round after which it is cut (or none: the whole), and facts that
careful reading found a successor to need: what was decided, which files, how tests are run, where the work stands,
what things are called. A fact is present if one of its strings is. They were chosen before there was a pack to look
at; packs were tuned looking at every other session only, so the figure to believe is that of the sessions left out.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from muniment import sources
from muniment.archive import Archive
from muniment.context import Request, Selection, build
from muniment.context.tokens import Count
from muniment.ingest import skeleton
from muniment.model import Facts
from muniment.sources.lines import records
from muniment.store import page
from tests.quality import gold

FOLDER = Path(__file__).parent
BUDGET = 4000


class Fact(Struct, frozen=True):
    """Something a successor needs to know."""

    kind: str
    what: str
    any: tuple[str, ...]
    """Strings of which one must be there."""

    def within(self, text: str) -> bool:
        return any(words in text for words in self.any)


class Case(Struct, frozen=True):
    """A session, cut where a successor takes over."""

    file: str
    sha256: str
    session_id: str
    rounds: int
    cut: int | None
    facts: tuple[Fact, ...]


Way = Callable[[Archive, int], str]
"""A way to fill so many tokens with what the one session of an archive tells."""


def cases() -> list[Case]:
    """What the reader wrote down."""
    return [
        Case(**(entry | {"facts": tuple(Fact(f["kind"], f["what"], tuple(f["any"])) for f in entry["facts"])}))
        for entry in json.loads((FOLDER / "facts.json").read_text())
    ]


def archives(corpus: Path, chosen: list[Case], folder: Path) -> Iterator[Archive]:
    """For every case an archive of the session as it was when the successor took over."""
    labels = {label.file: label for label in gold.labels()}
    snapshots = gold.snapshots_of(corpus)
    for number, case in enumerate(chosen):
        path = gold.find(corpus, labels[case.file], snapshots[case.session_id])
        place = folder / str(number) / "source" / f"{case.session_id}.jsonl"
        place.parent.mkdir(parents=True)
        place.write_bytes(_cut(path, case))
        archive = Archive(folder / str(number) / "store", {"HOME": str(folder)})
        archive.inscribe([place.parent])
        archive.ingest()
        yield archive


def _cut(path: Path, case: Case) -> bytes:
    data = path.read_bytes()
    if case.cut is None:
        return data
    source = sources.recognise(path)
    assert source
    rounds = list(source.read(records([data]), Facts(case.session_id, source.name)))
    return data[: rounds[case.cut].offset]


# -- ways to fill the room


def pack(archive: Archive, budget: int) -> str:
    return build(archive.layout, Request(Selection(sessions=("last",)), "successor", budget=budget)).text


def tail_of_transcript(archive: Archive, budget: int) -> str:
    """The end of the document: everything that was said and done last."""
    return _last(_transcript(archive), budget)


def ends_of_skeleton(archive: Archive, budget: int) -> str:
    """What was said first and what was said last."""
    said = _skeleton(archive)
    return _first(said, budget // 2) + "\n" + _last(said, budget - budget // 2 - 1)


def tail_of_skeleton(archive: Archive, budget: int) -> str:
    """What was said last."""
    return _last(_skeleton(archive), budget)


WAYS: dict[str, Way] = {
    "successor pack": pack,
    "end of the transcript": tail_of_transcript,
    "both ends of the skeleton": ends_of_skeleton,
    "end of the skeleton": tail_of_skeleton,
}


def _transcript(archive: Archive) -> str:
    return page.load_body(archive.shelf(archive.session("last")).document).decode("utf-8", "replace")


def _skeleton(archive: Archive) -> str:
    row = archive.session("last")
    facts, sides = archive.facts(row)
    return skeleton.text(skeleton.make(archive.rounds(row), facts, row.agent_id, len(sides)))


def _last(text: str, budget: int) -> str:
    return _most(budget, len(text), lambda length: text[len(text) - length :])


def _first(text: str, budget: int) -> str:
    return _most(budget, len(text), lambda length: text[:length])


def _most(budget: int, length: int, piece: Callable[[int], str]) -> str:
    """The longest piece that fits into so many tokens."""
    count = Count()
    low, high = 0, length
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count.cost(piece(middle)) <= count.allowed(budget) else (low, middle - 1)
    return piece(low)


# -- the figures


class Share(Struct, frozen=True):
    """How many facts were present."""

    found: int
    facts: int

    def __str__(self) -> str:
        return f"{self.found / self.facts:.2f} ({self.found}/{self.facts})" if self.facts else "-"


class Result(Struct, frozen=True):
    """One case by one way."""

    number: int
    way: str
    fact: Fact
    found: bool


def measure(corpus: Path, budget: int = BUDGET) -> list[Result]:
    """Every fact of every case by every way."""
    chosen = cases()
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, archive in enumerate(archives(corpus, chosen, Path(folder))):
            for name, way in WAYS.items():
                text = way(archive, budget)
                results += [Result(number, name, fact, fact.within(text)) for fact in chosen[number].facts]
    return results


def share(results: list[Result], way: str, **kept: object) -> Share:
    """Of one way; `seen=False` counts only sessions that nobody looked at while tuning, `kind` only facts of a kind."""
    own = [one for one in results if one.way == way]
    if "seen" in kept:
        own = [one for one in own if (one.number % 2 == 0) == kept["seen"]]
    if "kind" in kept:
        own = [one for one in own if one.fact.kind == kept["kind"]]
    return Share(sum(one.found for one in own), len(own))


def print_table(corpus: Path) -> None:
    results = measure(corpus)
    kinds = list(dict.fromkeys(one.fact.kind for one in results))
    print(f"\nfacts that a successor needed, {BUDGET} tokens: {len({one.number for one in results})} sessions")
    print(f"{'':28}{'sessions left out':>18}{'all':>16}" + "".join(f"{kind:>10}" for kind in kinds))
    for way in WAYS:
        left_out, everything = str(share(results, way, seen=False)), str(share(results, way))
        of_kinds = [share(results, way, kind=kind) for kind in kinds]
        figures = "".join(f"{one.found / one.facts:10.2f}" for one in of_kinds)
        print(f"{way:28}{left_out:>18}{everything:>16}{figures}")
