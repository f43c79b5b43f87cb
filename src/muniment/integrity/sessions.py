"""Whether all that lies in the folder of a session is what its evidence gives.

Every frame is read; rounds, document, media, `session.db` and listing are compared with what the evidence gives.
Nothing ends it: what cannot be read is a problem, and the rest is looked at all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path, PurePath
from typing import Any

import apsw
from msgspec import Struct, structs

from muniment import check, files, sources
from muniment.check import DAMAGED, Checked, Inscribed
from muniment.errors import Damaged, MunimentError
from muniment.inscribe import stand_in
from muniment.inscribe.heads import make_head
from muniment.inscribe.messages import is_transcript
from muniment.integrity import index_rows
from muniment.integrity.index_rows import IndexRows, Transcript
from muniment.model import Facts, Problem
from muniment.sources.base import Found, SourceFile
from muniment.store import closing, evidence, head, listings, page, rounds, rows, versions
from muniment.store.evidence import Kept, Manifest
from muniment.store.layout import Shelf, round_name
from muniment.store.rows import RoundRow

SURPLUS = "surplus"
"""Note of a report: files that nothing refers to. They are no damage."""


class Stored(Struct, frozen=True):
    """A session of the archive, and what the index says of it."""

    shelf: Shelf
    agent_id: str
    known: IndexRows | None = None
    """None if the index does not tell."""
    untold: str = ""
    """Why it does not, where the index as a whole can be read."""

    @property
    def database(self) -> str:
        """The path of the index."""
        return str(self.shelf.folder.parent.parent / "sessions.db")


def check_session(stored: Stored) -> Iterator[Checked]:
    """Check a session and its older versions: a report for each transcript, and for what else is damaged."""
    if irregular := list(_find_irregular(stored.shelf)):
        lost = any(PurePath(one.path).parent.name == stored.shelf.evidence.name for one in irregular)
        yield report(stored.shelf.name, irregular, lost=lost)  # whoever opened one could wait for ever
        return
    yield from _check_version(stored, stored.shelf, "")
    for name in versions.names(stored.shelf):
        own = stored.shelf.version(name)
        if evidence.exists(own.evidence) or rounds.numbers(own):
            reports = _check_version(stored, own, name)
            yield from (structs.replace(one, version=name) for one in reports if one.note)


def _find_irregular(shelf: Shelf) -> Iterator[Problem]:
    """Find pipes, sockets and devices where files of the session belong."""
    for path in (shelf.document, *files.walk_irregular(shelf.folder)):
        if files.is_irregular(path):
            yield Problem(str(path), 0, "it is no regular file")


def _check_version(stored: Stored, shelf: Shelf, version: str) -> Iterator[Checked]:
    try:
        manifest = evidence.load(shelf.evidence)
    except MunimentError as error:
        path = error.path if isinstance(error, Damaged) else str(shelf.evidence)
        yield report(stored.shelf.name, [Problem(path, 0, error.message)], lost=True)
        return
    if manifest is None or not manifest.files:
        problem = Problem(str(shelf.evidence), 0, "there is no evidence: its manifest is missing")
        yield report(stored.shelf.name, [problem], lost=True)
        return
    yield from _Version(stored, shelf, version, manifest).check()


def report(session_id: str, problems: list[Problem], path: str = "", lost: bool = False) -> Checked:
    """Damage as a report; `lost` says that some of the evidence does not come back."""
    where = path or (problems[0].path if problems else "")
    return Checked(where, session_id, restored=not lost, stable=True, problems=problems, note=DAMAGED)


class _Version:
    """One version of a session while it is being checked."""

    def __init__(self, stored: Stored, shelf: Shelf, version: str, manifest: Manifest) -> None:
        self.stored, self.shelf, self.version, self.manifest = stored, shelf, version, manifest
        self.session_id = stored.shelf.name
        self.source = sources.named(manifest.source)
        about = (manifest.root, manifest.home, (), manifest.native_id)
        self.found = Found(manifest.source, manifest.session_id, *about)
        self.sides: dict[str, Facts] = {}
        self.main: Facts | None = None
        self.rows: list[RoundRow] | None = None
        self.transcripts: list[Transcript] = []
        """Those whose evidence is whole."""

    def check(self) -> Iterator[Checked]:
        """Report on every transcript, then on everything else that is damaged."""
        others: list[Problem] = []
        are_lost = False
        if self.manifest.session_id != self.session_id:
            others.append(Problem(str(self.shelf.evidence), 0, "the manifest is that of another session"))
        for kept in self.manifest.files:
            lost = list(self._lost(kept))
            if is_transcript(kept, self.manifest.files):
                yield report(self.session_id, lost, kept.path, lost=True) if lost else self._check_transcript(kept)
            else:
                others, are_lost = others + lost, are_lost or bool(lost)
        if self.rows is not None and not self.version:
            others += self._compare_rows(self.rows)
        others += self._compare_index()
        if others:
            yield report(self.session_id, others, lost=are_lost)
        if surplus := list(self._find_surplus()):
            where = str(self.shelf.folder)
            yield Checked(where, self.session_id, restored=True, stable=True, problems=surplus, note=SURPLUS)

    def _lost(self, kept: Kept) -> Iterator[Problem]:
        path = str(evidence.packed_path(self.shelf.evidence, kept))
        for frame in evidence.damaged_frames(self.shelf.evidence, kept):
            yield Problem(path, frame.offset, f"the evidence of {kept.name} is damaged", frame.length)

    def _check_transcript(self, kept: Kept) -> Checked:
        """Whether nothing was lost on the way in, and whether what is there is what came of it."""
        file = SourceFile(kept.path, kept.name, kept.role, kept.size, 0, id=kept.id)
        facts = check.facts_of(self.found, file)
        made = Checked(kept.path, self.session_id, restored=True, stable=True)
        pieces = partial(evidence.read, self.shelf.evidence, kept)
        if kept is not stand_in(self.manifest.files):  # which is no transcript that an export could be compared with
            made = check.check_transcript(self.source, facts, file, pieces)
        own = self.shelf.sidechain(kept.id) if kept.role == "sidechain" and kept.id else self.shelf
        fresh = check.inscribed(self.source, facts, self.source.open(kept.name, pieces()), own.name)
        wrong = list(self._compare(own, fresh, kept))
        made.problems += wrong
        made.note = DAMAGED if wrong else ""
        return made

    def _compare(self, own: Shelf, fresh: Inscribed, kept: Kept) -> Iterator[Problem]:
        """Where files differ from what the evidence gives."""
        for round_ in fresh.rounds:
            path = own.round_file(round_.number)
            if _read(path) != rounds.encode(round_):
                yield Problem(str(path), 0, "the round file differs from the evidence")
        for name, content in fresh.media.items():
            if _read(own.media / name) != content:
                yield Problem(str(own.media / name), 0, "the image or file differs from the evidence")
        if (surplus := own.round_file(len(fresh.rounds) + 1)).exists():
            yield Problem(str(surplus), 0, "the evidence has no such round")
        yield from self._compare_document(own, fresh, kept)
        self.transcripts.append(Transcript(kept, own, fresh.rounds, fresh.facts, frozenset(fresh.media)))
        if own is self.shelf:
            self.main = fresh.facts
            self.rows = [_row(one, self.session_id) for one in fresh.rounds]
        elif kept.id:
            self.sides[kept.id] = fresh.facts

    def _compare_document(self, own: Shelf, fresh: Inscribed, kept: Kept) -> Iterator[Problem]:
        data = _read(own.document)
        top, body = head.split(data or b"")
        if data is None or closing.without(body) != closing.without(fresh.body):
            yield Problem(str(own.document), 0, "the document is missing" if data is None else _OTHER)
        elif self._head(own, fresh, kept, len(body)) != top:
            yield Problem(str(own.document), 0, "the head of the document differs from the evidence")

    def _head(self, own: Shelf, fresh: Inscribed, kept: Kept, body_bytes: int) -> bytes | None:
        """The head of a document as it would be written now; None if the one that is there cannot be read.

        That of a subagent or an older version may name the bucket in which the session lay before."""
        try:
            existing = page.load_head(own.document)
        except (MunimentError, OSError):
            return None
        bucket = self.stored.agent_id
        if existing and (own is not self.shelf or self.version):
            bucket = str(existing.fields.get("agent_id"))
        top = make_head(self.source, bucket, own, kept.path, fresh.facts)
        top = structs.replace(top, own=top.own | {page.BODY_BYTES: body_bytes})
        return head.render(top, has_messages=bool(fresh.body))

    # -- what is said of all rounds

    def _compare_rows(self, wanted: list[RoundRow]) -> Iterator[Problem]:
        there = _checked_rows(self.shelf.database)
        tags = self.stored.known.tags if self.stored.known else None
        if isinstance(there, str):
            yield Problem(str(self.shelf.database), 0, there)
            there = None
        elif _untagged(there) != wanted or (tags is not None and _tags(there) != tags):
            yield Problem(str(self.shelf.database), 0, "its rows differ from the rounds")
        if there is not None and _read(self.shelf.listing) != self._listing(there):
            yield Problem(str(self.shelf.listing), 0, "the listing differs from the rounds")

    def _listing(self, there: list[RoundRow]) -> bytes:
        top = None
        try:
            top = page.load_head(self.shelf.document)
        except (MunimentError, OSError):
            return _read(self.shelf.listing) or b""  # the document is damaged, which is told already
        return listings.whole_listing(top.title if top else "", there, self.sides)

    # -- what the index says

    def _compare_index(self) -> Iterator[Problem]:
        if self.stored.untold and not self.version:
            what = f"session {self.session_id}: the index {self.stored.untold}; {_MEND}"
            yield Problem(self.stored.database, 0, what)
        elif self.stored.known and (wrong := list(self._find_wrong_rows(self.stored.known))):
            of = f"session {self.session_id}" + (f", version {self.version}" if self.version else "")
            what = f"{of} differs from the evidence in {', '.join(wrong)}; {_MEND}"
            yield Problem(self.stored.database, 0, what)

    def _find_wrong_rows(self, known: IndexRows) -> Iterator[str]:
        if not index_rows.has_copy(known, self.version, self.manifest):
            yield "the copy of its manifest"
        if self.version:
            if not index_rows.has_version(known, self.version, self.manifest, self.main):
                yield "its row"
            return
        if self.rows is not None and _untagged(list(known.rounds)) != self.rows:
            yield "the rows of its rounds"
        if self._is_sound():
            yield from index_rows.compare(known, self.manifest, self.transcripts)

    def _is_sound(self) -> bool:
        """Whether the evidence of every transcript could be read: else nobody knows which rows it gives."""
        wanted = [kept for kept in self.manifest.files if is_transcript(kept, self.manifest.files)]
        return len(self.transcripts) == len(wanted)

    # -- what belongs to nothing

    def _find_surplus(self) -> Iterator[Problem]:
        """Find rounds and media that nothing of the session refers to; those that a program still writes are none."""
        for one in self.transcripts:
            names = {round_name(round_.number) for round_ in one.rounds}
            names |= {round_name(len(names) + 1)}  # which is read like any other, and therefore told as damage
            names |= {f"{one.shelf.media.name}/{name}" for name in one.media}
            for folder in (one.shelf.rounds, one.shelf.media):
                for path in _files_in(folder):
                    if f"{folder.name}/{path.name}" not in names:
                        yield Problem(str(path), 0, "nothing refers to this file; it can be deleted")


_MEND = "`muniment reindex` mends it"
_OTHER = "the document differs from the evidence"


def _files_in(folder: Path) -> list[Path]:
    """The files in a folder, without those that are being written, and what was put away from their places."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not path.name.startswith(".") and ".folder-" not in path.name)


def _read(path: Path) -> bytes | None:
    try:
        return files.read_regular(path)
    except OSError:
        return None


def _row(round_: rounds.Round, session_id: str) -> RoundRow:
    return rows.round_row(round_, session_id, round_name(round_.number), None)


def _untagged(there: list[RoundRow]) -> list[RoundRow]:
    return [row._replace(engagement_id=None) for row in there]


def _tags(there: list[RoundRow]) -> Mapping[int, str]:
    return {row.round: row.engagement_id for row in there if row.engagement_id is not None}


def _checked_rows(path: Path) -> list[RoundRow] | str:
    """The rows of a `session.db`, or what is wrong with it."""
    data = _read(path)
    if data is None:
        return "the database is missing or cannot be read"
    try:
        db: Any = apsw.Connection(":memory:")
        db.deserialize("main", data)
        if (said := db.execute("PRAGMA integrity_check").get) != "ok":
            return f"the database is damaged: {said}"
        db.execute("INSERT INTO rounds_fts(rounds_fts) VALUES ('integrity-check')")
        return [RoundRow(*row) for row in db.execute("SELECT * FROM rounds ORDER BY round")]
    except (apsw.Error, TypeError, UnicodeDecodeError) as error:
        return f"the database is damaged: {error}"
