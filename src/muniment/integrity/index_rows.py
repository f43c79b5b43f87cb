"""Whether the rows that the index has of a session are those that its evidence gives.

Rows beyond those count for nothing where an older state of the session may have left them: a subagent that is part of
an older version by now, or a file that is no longer read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import apsw
import msgspec
from msgspec import Struct

from muniment.inscribe.messages import Progress
from muniment.model import Facts, Round, codec
from muniment.store import evidence, page, rows, schema, session_table
from muniment.store.branches import find_branch
from muniment.store.damage_table import Copied
from muniment.store.evidence import Kept, Manifest
from muniment.store.index import Index
from muniment.store.layout import Shelf
from muniment.store.rows import Place, RoundRow, UsageRow, fit
from muniment.store.session_table import SessionRow

_COLUMNS = """source, title, model, cwd, branch, started, ended, rounds, prompts, messages, tool_calls, tokens,
  problems, sidechains, source_bytes, origin, path"""
"""Of `sessions`, what follows from the evidence. A person may have written another summary by now."""

GARBLED = (msgspec.MsgspecError, ValueError, TypeError, AttributeError)
"""What is raised for a value that is not what was put in, or of another type."""


class IndexRows(Struct, frozen=True):
    """All that the index says of a session."""

    session: tuple[Any, ...]
    facts: Facts
    rounds: tuple[RoundRow, ...]
    """Their files are named below the folder of the session, where the index names them below its own."""
    texts: Counter[Place]
    usage: tuple[UsageRow, ...]
    branches: dict[int, int]
    sidechains: dict[str, Facts]
    versions: dict[str, tuple[str, Facts]]
    manifests: dict[str, Copied]
    progress: dict[str, Progress]

    @property
    def tags(self) -> dict[int, str]:
        """The engagements of its rounds."""
        return {row.round: row.engagement_id for row in self.rounds if row.engagement_id is not None}


def load(known: Index, session_id: str, folder: str) -> IndexRows | None:
    """Read all that the index says of a session, whose files lie in this folder; None if it does not know it."""
    found = known.rows(f"SELECT id, facts, {_COLUMNS} FROM sessions WHERE session_id = ?", session_id)
    if not found:
        return None
    key, facts, *about = found[0]
    listed = known.rows("SELECT * FROM rounds WHERE session_id = ? ORDER BY round", session_id)
    usage = """SELECT message_id, round, sidechain, model, at, input, output, cache_read, cache_write
      FROM usage WHERE session = ?"""
    versions = known.rows("SELECT hash8, path, facts FROM versions WHERE session = ?", key)
    copies = known.rows("SELECT version, sizes, data FROM manifests WHERE session_id = ?", session_id)
    return IndexRows(
        tuple(about),
        _facts(facts),
        tuple(_below(RoundRow(*row), f"{folder}/") for row in listed),
        Counter(known.rows("SELECT round, kind, tool, sidechain, offset FROM texts WHERE session = ?", key)),
        tuple(known.rows(usage, key)),  # pyright: ignore[reportArgumentType]
        dict(known.rows("SELECT round, follows FROM branches WHERE session = ?", key)),
        {id_: _facts(said) for id_, said in known.rows("SELECT id, facts FROM sidechains WHERE session = ?", key)},
        {hash8: (path, _facts(said)) for hash8, path, said in versions},
        {version: Copied(sizes, data) for version, sizes, data in copies},
        {name: codec.decode(state, Progress) for name, state in known.progress(session_id, "").items()},
    )


def _facts(text: str) -> Facts:
    return codec.decode(text.encode(), Facts)


def _below(row: RoundRow, folder: str) -> RoundRow:
    return row._replace(round_file=row.round_file.removeprefix(folder))


# -- what the evidence gives


class Transcript(Struct, frozen=True):
    """A transcript as its evidence gives it."""

    kept: Kept
    shelf: Shelf
    rounds: Sequence[Round]
    facts: Facts
    media: frozenset[str]
    """The names of its images and files."""

    @property
    def side(self) -> str | None:
        return self.kept.id if self.kept.role == "sidechain" else None


def _find_branches(main: Transcript) -> Iterator[tuple[int, int]]:
    """Tell which rounds follow another than the one before."""
    previous: Round | None = None
    for round_ in main.rounds:
        if (follows := find_branch(main.shelf, previous, round_)) is not None:
            yield round_.number, follows
        previous = round_


def compare(known: IndexRows, manifest: Manifest, transcripts: Sequence[Transcript]) -> Iterator[str]:
    """Tell which rows of the current version of a session differ from what its transcripts give."""
    mains = [one for one in transcripts if one.side is None]
    sides = {one.side: one.facts for one in transcripts if one.side is not None}
    if any(known.sidechains.get(fit(id_) or "") != facts for id_, facts in sides.items()):
        yield "its subagents"
    if not _has_texts(known.texts, transcripts):
        yield "the places of its texts"
    if not _has_usage(known.usage, transcripts):
        yield "the tokens of its answers"
    if any(_is_read_otherwise(known.progress.get(fit(one.kept.name) or ""), one) for one in transcripts):
        yield "how far it is read"
    if mains:
        yield from _compare_main(known, manifest, mains[0], sides)


def _compare_main(known: IndexRows, manifest: Manifest, main: Transcript, sides: Mapping[str, Facts]) -> Iterator[str]:
    if known.facts != main.facts:
        yield "its facts"
    elif known.session != _make_session_row(known, manifest, main.facts, dict(sides)):
        yield "its title, times or numbers"
    if known.branches != dict(_find_branches(main)):
        yield "its branches"


def _has_texts(there: Counter[Place], transcripts: Sequence[Transcript]) -> bool:
    wanted: Counter[Place] = Counter()
    for one in transcripts:
        for round_ in one.rounds:  # blank texts have no words, and no row
            wanted.update(place for place, text in rows.placed(round_, one.side) if text and not text.isspace())
    sides = {place[3] for place in wanted}
    return wanted == Counter({place: count for place, count in there.items() if place[3] in sides or place[3] is None})


def _has_usage(there: Sequence[UsageRow], transcripts: Sequence[Transcript]) -> bool:
    """Whether each answer counts once: where subagents share one, it may be the row of any of them."""
    wanted = [row for one in transcripts for round_ in one.rounds for row in rows.usage_rows(round_, one.side)]
    sides = {row[2] for row in wanted}
    there = [row for row in there if row[2] is None or row[2] in sides]
    if Counter(filter(_is_alone, there)) != Counter(filter(_is_alone, wanted)):
        return False
    own = {_answer(row) for row in wanted if row[2] is None}
    copies = [row for row in there if not _is_alone(row)]
    expected = {_answer(row) for row in wanted if not _is_alone(row)} - own
    return len(copies) == len(expected) and {_answer(row) for row in copies} == expected and {*copies} <= {*wanted}


def _is_alone(row: UsageRow) -> bool:
    """Whether a row counts whatever other rows there are: it is the transcript's own, or has no id."""
    return row[2] is None or not row[0]


def _answer(row: UsageRow) -> tuple[str | None, str]:
    return row[0], row[4] or ""


def _is_read_otherwise(progress: Progress | None, one: Transcript) -> bool:
    """Whether an append would go on from another place than where the transcript ends."""
    if progress is None or (progress.size, progress.edition) != (one.kept.size, one.kept.edition):
        return True
    last = one.rounds[-1] if one.rounds else None
    opened = last.offset if last and last.number > 1 else 0
    at = (progress.facts, progress.open_offset, progress.whole_body_bytes)
    return at != (one.facts, opened, page.body_bytes(one.shelf.document))


def _make_session_row(known: IndexRows, manifest: Manifest, facts: Facts, sides: dict[str, Facts]) -> tuple[Any, ...]:
    """The row of `sessions` as an inscription would write it, with the tokens that the index counts."""
    size = sum(kept.size for kept in manifest.files)
    path = (manifest.main or manifest.files[0]).path
    row = SessionRow(facts.session_id, "", facts, "", sides, size, path)
    db = _scratch()
    db.execute("BEGIN")
    try:
        db.execute("INSERT INTO sessions(id, session_id, agent_id, source, facts) VALUES (1, '', '', '', '')")
        db.executemany("INSERT INTO usage VALUES (1,?,?,?,?,?,?,?,?,?)", known.usage)
        session_table.replace(db, 1, row)
        return next(iter(db.execute(f"SELECT {_COLUMNS} FROM sessions")))
    finally:
        db.execute("ROLLBACK")


@cache
def _scratch() -> Any:
    """An index without sessions."""
    db: Any = apsw.Connection(":memory:")
    db.execute(schema.ARCHIVE)
    return db


# -- what is said of a version as a whole


def has_copy(known: IndexRows, version: str, manifest: Manifest) -> bool:
    """Whether the index has a copy of the manifest of a version, from which it could come back."""
    copy = known.manifests.get(version)
    if copy is None:
        return False
    try:
        same = evidence.decode(copy.data) == manifest
        return same and codec.loads(copy.sizes.encode()) == evidence.sizes(manifest)
    except GARBLED:
        return False


def has_version(known: IndexRows, version: str, manifest: Manifest, facts: Facts | None) -> bool:
    """Whether the index knows an older version, where it was found, and its facts. A version that was set aside before
    it was read has none."""
    path, said = known.versions.get(version, ("", None))
    paths = {fit(one.path) for one in (*manifest.files, *manifest.copies)}
    blank = Facts(manifest.session_id, manifest.source)
    return path.removesuffix(f"#{manifest.session_id}") in paths and (facts is None or said in (facts, blank))
