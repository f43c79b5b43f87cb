"""The labelled sessions: what careful readers found in them, and the sessions themselves.

A label names a file by its hash. Two of the files are early snapshots of sessions that went on, and the readers saw the
later state; so the state with as many rounds as the label says is looked for among the files of the same session.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from muniment import sources
from muniment.ingest import skeleton
from muniment.ingest.skeleton import Skeleton
from muniment.model import Facts
from muniment.sources.lines import records

FOLDER = Path(__file__).parent
LATER = "later.json"
"""Sessions that were labelled when there was an extractor, before it was run on them; learned from since."""
SHORT = "short.json"
"""Sessions of one or two rounds, labelled in the same way; never learned from."""


class Labelled(Struct, frozen=True):
    """One engagement as a reader found it."""

    ranges: tuple[tuple[int, int], ...]
    topic: str
    method: str
    phase: str
    project: str | None = None
    why: str = ""

    @property
    def turns(self) -> set[int]:
        return {turn for first, last in self.ranges for turn in range(first, last + 1)}


class Label(Struct, frozen=True):
    """One session as a reader found it."""

    file: str
    sha256: str
    session_id: str
    rounds: int
    engagements: tuple[Labelled, ...]
    agent_name: str | None = None

    @property
    def starts(self) -> list[int]:
        """The first turn of every range but the first."""
        return sorted(first for one in self.engagements for first, _ in one.ranges if first > 1)


def labels(name: str = "labels.json") -> list[Label]:
    """What the readers wrote down."""
    return [_label(entry) for entry in json.loads((FOLDER / name).read_text())]


def _label(entry: dict) -> Label:
    found = tuple(
        Labelled(
            tuple(map(tuple, one["ranges"])), one["topic"], one["method"], one["phase"], one["project"], one["why"]
        )
        for one in entry["engagements"]
    )
    return Label(entry["file"], entry["sha256"], entry["session_id"], entry["rounds"], found, entry["agent_name"])


def sessions(corpus: Path, wanted: list[Label]) -> list[Skeleton]:
    """The skeletons of labelled sessions, in the state that was labelled. Raises if one is missing or not the same."""
    snapshots = snapshots_of(corpus)
    return [_session(corpus, label, snapshots[label.session_id]) for label in wanted]


def snapshots_of(corpus: Path) -> dict[str, list[Path]]:
    """Every file of every session of the agents that were labelled."""
    found: dict[str, list[Path]] = defaultdict(list)
    for folder in ("claude-code", "codex"):
        for session in sources.find_in(corpus / folder, {}):
            found[session.session_id] += [Path(file.path) for file in session.files if file.role in ("main", "old")]
    return found


def _session(corpus: Path, label: Label, snapshots: list[Path]) -> Skeleton:
    return read(find(corpus, label, snapshots), label.session_id)


def find(corpus: Path, label: Label, snapshots: list[Path]) -> Path:
    """The file with the state that was labelled."""
    named = corpus / label.file
    if hashlib.sha256(named.read_bytes()).hexdigest() != label.sha256:
        raise ValueError(f"{label.file}: not the file that was labelled")
    for path in [named, *snapshots]:
        if len(read(path, label.session_id).turns) == label.rounds:
            return path
    raise ValueError(f"{label.file}: no snapshot has {label.rounds} rounds")


def read(path: Path, session_id: str) -> Skeleton:
    """The skeleton of one transcript."""
    source = sources.recognise(path)
    facts = Facts(session_id, source.name)
    rounds = list(source.read(records(source.open(path.name, [path.read_bytes()])), facts))
    for round_ in rounds:
        facts = facts.after(round_)
    return skeleton.make(rounds, facts, source.family, 0)


def everything(corpus: Path) -> Iterator[Skeleton]:
    """Every session of the corpus that the sources can read, labelled or not."""
    for session in sources.find_in(corpus, {}):
        for file in session.files:
            if file.role in ("main", "old"):
                yield read(Path(file.path), session.session_id)
