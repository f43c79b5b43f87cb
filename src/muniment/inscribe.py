"""Inscribing one session: its files into evidence, its records into rounds, document and index rows.

An append is the same operation begun later: the reader starts at the open round, whose bytes come from the
evidence, and goes on with the bytes that were added to the source. Everything written is a function of the
evidence, so a killed run leaves nothing that the next one does not write again, equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from muniment import files, sources
from muniment.model import Facts, Problem, Round, codec
from muniment.sources.base import Found, Record, Source, SourceFile, records
from muniment.store import edits, evidence, head, listings, page, rounds, rows, session_db, versions
from muniment.store.evidence import Appender, Kept, Manifest
from muniment.store.index import SessionRow
from muniment.store.layout import Layout, Shelf

ROWS_BYTES = 4 << 20
"""Searchable text collected before it is handed on."""


class Progress(Struct, frozen=True, omit_defaults=True):
    """How far a transcript is read, and what an append needs to go on from there."""

    size: int
    """Bytes of the evidence that were read."""
    open_offset: int
    """Where the open round begins."""
    body_bytes: int
    """Size of the document's body before the open round."""
    whole_body_bytes: int
    """Size of the whole body: another size on disk means that somebody edited it."""
    indexed: int
    """End of the last whole record."""
    before: Facts
    """The facts before the open round."""
    facts: Facts
    """The facts with it."""


class Task(Struct, frozen=True):
    """One session to be inscribed."""

    found: Found
    agent_id: str
    signature: str
    progress: dict[str, dict[str, bytes]]
    """By version ("" is the current one), then by file name: encoded `Progress`."""
    rebuild: str | None = None
    """Derive this version anew from its evidence, instead of looking at the source."""


class Outcome(Struct, frozen=True):
    """What inscribing one session came to."""

    session_id: str
    path: str
    what: str
    """new, appended, unchanged, version, shrunk, rebuilt or failed."""
    rounds: int = 0
    messages: int = 0
    bytes_read: int = 0
    problems: tuple[Problem, ...] = ()
    note: str = ""


class Begin(Struct, frozen=True):
    """Rows of one transcript follow, from this round and byte on."""

    session_id: str
    agent_id: str
    source: str
    sidechain: str | None
    round: int
    offset: int
    indexed: bool = True
    """Older versions are kept, not indexed."""


class Rows(Struct, frozen=True):
    """Some rows of the transcript begun last."""

    rounds: tuple[rows.RoundRow, ...] = ()
    texts: tuple[rows.TextRow, ...] = ()
    usage: tuple[rows.UsageRow, ...] = ()
    branches: tuple[tuple[int, int], ...] = ()


class Done(Struct, frozen=True):
    """A session is in the store; the index may say so."""

    row: SessionRow
    version: str
    source_path: str
    signature: str
    progress: tuple[tuple[str, bytes], ...]
    moved: tuple[str, str, Facts] | None
    """A former current version that is now kept as an older one: hash, path, facts."""
    outcome: Outcome


Sink = Callable[[Begin | Rows | Done], None]


def signature(found: Found) -> str:
    """Changes whenever any file of the session may have changed."""
    seen = [(f.name, f.size, f.mtime_ns, f.inode) for f in found.files]
    return hashlib.sha256(repr(seen).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def key_path(found: Found) -> str:
    """The path that stands for a session on this machine."""
    return (found.main or found.files[0]).path


def inscribe(layout: Layout, task: Task, sink: Sink) -> Outcome:
    """Put one session into the store, or what is new of it."""
    inscription = Inscription(layout, task, sink)
    return inscription.run() if task.rebuild is None else inscription.rebuild(task.rebuild)


class Inscription:
    """One session on its way into the store."""

    def __init__(self, layout: Layout, task: Task, sink: Sink) -> None:
        self.task = task
        self.found = task.found
        self.source: Source = sources.named(task.found.source)
        self.sink = sink
        self.current = layout.shelf(task.agent_id, task.found.session_id)
        self.problems: list[Problem] = []
        self.bytes_read = 0
        self.changed = False
        self.moved: tuple[str, str, Facts] | None = None
        self.summary: str | None = None
        self.tags = edits.engagements(layout, task.found.session_id)

    def run(self) -> Outcome:
        if versions.set_damaged_aside(self.current):
            self.problems.append(Problem(str(self.current.evidence), 0, "damaged evidence was set aside"))
        choice = versions.choose(self.current, self.found, self.source)
        if choice.set_aside:
            self._set_aside()
        self.version, self.shelf = choice.version, self.current
        if choice.version:
            self.shelf = self.current.version(choice.version)
        files.make_folder(self.shelf.folder)
        known = evidence.load(self.shelf.evidence)
        manifest = known or Manifest(
            self.found.source, self.found.session_id, self.found.root, self.found.home, self.found.native_id
        )
        progress = {name: codec.decode(state, Progress) for name, state in self._known_progress().items()}
        facts: dict[str | None, Facts] = {}
        saved: dict[str, Progress] = {}
        for file in self.found.files:
            if choice.skip_main and file.role == "main":
                manifest = self._seen(manifest, manifest.main, file)
                continue
            if file.role in ("main", "sidechain"):
                name = (manifest.main or file).name if file.role == "main" else file.name
                manifest, made = self._transcript(file, manifest, progress.get(name))
                if made:
                    saved[name] = made
                    facts[file.id] = made.facts
            else:
                manifest = self._side_file(file, manifest)
        if manifest != known:
            files.make_folder(self.shelf.evidence)
            evidence.save(self.shelf.evidence, manifest)
        return self._finish(manifest, facts, saved, progress, choice, is_new=known is None)

    def rebuild(self, version: str) -> Outcome:
        """Everything derived, anew from the evidence alone; the source is not looked at."""
        self.version = version
        self.shelf = self.current.version(version) if version else self.current
        manifest = evidence.load(self.shelf.evidence)
        assert manifest, "only sessions with evidence are rebuilt"
        facts: dict[str | None, Facts] = {}
        saved: dict[str, Progress] = {}
        for kept in manifest.files:
            if kept.role in ("main", "sidechain"):
                file = SourceFile(kept.path, kept.name, kept.role, kept.size, kept.mtime_ns, id=kept.id)
                writer = TranscriptWriter(self, self._shelf_of(file), file, kept, None)
                writer.run()
                saved[kept.name] = writer.progress
                facts[file.id] = writer.progress.facts
        return self._finish(manifest, facts, saved, {}, versions.Choice(), is_new=True)

    def _shelf_of(self, file: SourceFile) -> Shelf:
        return self.shelf.sidechain(file.id) if file.role == "sidechain" and file.id else self.shelf

    def _known_progress(self) -> dict[str, bytes]:
        """Nothing is known of a version that was set aside just now."""
        return {} if self.moved else self.task.progress.get(self.version, {})

    def _set_aside(self) -> None:
        """The source was rewritten: what was current becomes an older version, then the new content is read."""
        manifest = evidence.load(self.current.evidence)
        assert manifest, "a rewritten transcript is known"
        assert manifest.main, "a rewritten transcript is known"
        hash8 = manifest.main.digest[:8]
        state = self.task.progress.get("", {}).get(manifest.main.name)
        old = codec.decode(state, Progress).facts if state else Facts(self.found.session_id, self.found.source)
        versions.move(self.current, self.current.version(hash8))
        self.moved = (hash8, manifest.main.path, old)

    # -- files

    def _side_file(self, file: SourceFile, manifest: Manifest) -> Manifest:
        """A file that is kept and not read: as it is now, and as it was before if it was rewritten."""
        kept = self._kept(manifest, file)
        if kept and kept.size == file.size and kept.mtime_ns == file.mtime_ns and file.text is None:
            return manifest
        content = file.text if file.text is not None else b"".join(files.chunks(Path(file.path), 0, file.size))
        before = b"".join(evidence.read(self.shelf.evidence, kept)) if kept else b""
        if kept and before.startswith(content):
            return self._seen(manifest, kept, file)
        if kept and not content.startswith(before):
            if kept.path != file.path:
                return self._put(manifest, self._beside(file, [content]), file)
            manifest = versions.keep_old_file(self.shelf.evidence, manifest, kept)
            kept, before = None, b""
        return self._put(manifest, self._keep(file, kept, [content[len(before) :]]), file)

    def _kept(self, manifest: Manifest, file: SourceFile) -> Kept | None:
        """What is kept of a file: under its path if it was met there, else under its name."""
        return next((k for k in manifest.files if k.path == file.path and k.role != "old"), manifest.get(file.name))

    def _beside(self, file: SourceFile, pieces: Iterable[bytes]) -> Kept:
        """A file of the same name and other content, found below another folder: kept under a name of its own."""
        name = f"{file.name}@{hashlib.sha256(file.path.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
        kept = Kept(name, "side", file.path, root=self.found.root, place=file.name)
        return self._keep(file, kept, pieces)

    def _put(self, manifest: Manifest, made: Kept, file: SourceFile) -> Manifest:
        """With this file as it now stands; the path it was first found at keeps what it had."""
        self.changed = True
        before = manifest.get(made.name)
        if before and before.path != file.path and manifest.size_at(before, before.path) == before.size:
            root, place = before.root or manifest.root, before.place or before.name
            manifest = manifest.put(made).seen_at(made, before.path, root, place, manifest.home, before.size)
        return self._seen(manifest.put(made), made, file)

    def _seen(self, manifest: Manifest, kept: Kept | None, file: SourceFile) -> Manifest:
        if kept is None or file.role == "history":
            return manifest
        size = min(file.size, kept.size)
        return manifest.seen_at(kept, file.path, self.found.root, file.name, self.found.home, size)

    def _keep(self, file: SourceFile, kept: Kept | None, pieces: Iterable[bytes]) -> Kept:
        appender = Appender(self.shelf.evidence, kept or Kept(file.name, file.role, file.path, id=file.id))
        for piece in appender.through(pieces):
            self.bytes_read += len(piece)
        return structs.replace(appender.close(), mtime_ns=file.mtime_ns)

    # -- transcripts

    def _transcript(
        self, file: SourceFile, manifest: Manifest, progress: Progress | None
    ) -> tuple[Manifest, Progress | None]:
        kept = self._kept(manifest, file) or (manifest.main if file.role == "main" else None)
        if kept and versions.rewritten(self.shelf.evidence, kept, file, self.source):
            if kept.path != file.path:
                pieces = files.chunks(Path(file.path), 0, file.size)
                return self._put(manifest, self._beside(file, pieces), file), progress
            manifest = versions.keep_old_file(self.shelf.evidence, manifest, kept)
            kept = None
        shelf = self._shelf_of(file)
        if progress and (kept is None or progress.size > kept.size or self._edited(shelf, progress)):
            progress = None
        if progress and kept and progress.size == kept.size >= file.size:
            return self._seen(manifest, kept, file), progress
        kept = kept or Kept(file.name, file.role, file.path, id=file.id)
        writer = TranscriptWriter(self, shelf, file, kept, progress)
        return self._put(manifest, writer.run(), file), writer.progress

    def _edited(self, shelf: Shelf, progress: Progress) -> bool:
        """Somebody changed the messages of a document: it is kept aside and written anew from the evidence."""
        size = page.body_bytes(shelf.document)
        if size == progress.whole_body_bytes:
            return False
        if size >= 0:
            kept_at = versions.keep_edited(shelf)
            note = f"the document was edited; the edited one is kept as {kept_at.name}"
            self.problems.append(Problem(str(shelf.document), 0, note))
        return True

    # -- the end

    def _finish(
        self,
        manifest: Manifest,
        facts: dict[str | None, Facts],
        saved: dict[str, Progress],
        progress: dict[str, Progress],
        choice: versions.Choice,
        is_new: bool,
    ) -> Outcome:
        known = progress.values()
        main = facts.get(None) or next((p.facts for p in known if p.facts.sidechain is None), None)
        main = main or _without_transcript(self.found, facts.values())
        sidechains = {p.facts.sidechain: p.facts for p in known if p.facts.sidechain}
        sidechains |= {side: f for side, f in facts.items() if side}
        row = SessionRow(
            session_id=self.found.session_id,
            agent_id=self.task.agent_id,
            facts=main,
            summary=self._summary(),
            sidechains=sidechains,
            source_bytes=sum(kept.size for kept in manifest.files),
            path=(manifest.main or manifest.files[0]).path,
        )
        outcome = self._outcome(main, choice, is_new)
        self.sink(
            Done(
                row=row,
                version=self.version,
                source_path=key_path(self.found),
                signature=self.task.signature,
                progress=tuple((name, codec.encode(state)) for name, state in saved.items()),
                moved=self.moved,
                outcome=outcome,
            )
        )
        return outcome

    def _summary(self) -> str:
        """The one-line summary as it stands in the document."""
        if self.summary is None:
            top = page.load_head(self.shelf.document)
            return top.summary if top else ""
        return self.summary

    def _outcome(self, facts: Facts, choice: versions.Choice, is_new: bool) -> Outcome:
        what = (
            "rebuilt"
            if self.task.rebuild is not None
            else "new"
            if is_new
            else "appended"
            if self.changed
            else "unchanged"
        )
        if (self.version or self.moved) and self.task.rebuild is None:
            what = "version" if self.changed else "unchanged"
        elif choice.note and not self.changed:
            what = "shrunk"
        return Outcome(
            session_id=self.found.session_id,
            path=key_path(self.found),
            what=what,
            rounds=facts.rounds,
            messages=facts.messages,
            bytes_read=self.bytes_read,
            problems=tuple(self.problems),
            note=choice.note,
        )


class TranscriptWriter:
    """One transcript: evidence, rounds, document and rows, from the open round on."""

    def __init__(
        self, inscription: Inscription, shelf: Shelf, file: SourceFile, kept: Kept, progress: Progress | None
    ) -> None:
        self.parent = inscription
        self.shelf = shelf
        self.file = file
        self.kept = kept
        self.start = progress.open_offset if progress else 0
        self.since = progress.indexed if progress else 0
        self.facts = progress.before if progress else self._no_facts()
        self.old_facts = progress.facts if progress else None
        self.page = page.Page(shelf, progress.body_bytes if progress else 0)
        self.first = self.facts.rounds + 1
        self.torn: Record | None = None
        self.read_bytes = 0
        self.round_rows: list[rows.RoundRow] = []
        self.sent_rounds = 0
        self.texts: list[rows.TextRow] = []
        self.usage: list[rows.UsageRow] = []
        self.branches: list[tuple[int, int]] = []
        self.waiting_bytes = 0
        self.previous: Round | None = rounds.load(shelf, self.first - 1) if self.first > 1 else None

    def _no_facts(self) -> Facts:
        found = self.parent.found
        side = self.file.id if self.file.role == "sidechain" else None
        return Facts(found.session_id, found.source, native_id=found.native_id, sidechain=side)

    def run(self) -> Kept:
        """Write everything; the evidence as it now stands."""
        inscription = self.parent
        files.make_folder(self.shelf.rounds)
        self._begin()
        appender = Appender(inscription.shelf.evidence, self.kept)
        pieces = chain(
            evidence.read(inscription.shelf.evidence, self.kept, self.start) if self.kept.frames else (),
            appender.through(self._added()),
        )
        pieces = inscription.source.open(self.file.name, pieces)
        for round_ in inscription.source.read(self._watch(records(pieces, self.start)), self.facts):
            self._round(round_)
        kept = structs.replace(appender.close(), mtime_ns=self.file.mtime_ns)
        self._end(kept)
        return kept

    def _begin(self) -> None:
        found, task = self.parent.found, self.parent.task
        self.side = self.file.id if self.file.role == "sidechain" else None
        self.parent.sink(
            Begin(
                found.session_id,
                task.agent_id,
                found.source,
                self.side,
                self.first,
                self.since,
                not self.parent.version,
            )
        )

    def _added(self) -> Iterator[bytes]:
        """The bytes that were added to the source since the evidence was last written."""
        for piece in files.chunks(Path(self.file.path), self.kept.size, self.file.size):
            self.parent.bytes_read += len(piece)
            yield piece

    def _watch(self, lines: Iterable[Record]) -> Iterator[Record]:
        for record in lines:
            self.read_bytes = record.offset + record.length + 1
            if record.torn:
                self.torn = record
            yield record

    def _round(self, round_: Round) -> None:
        """One round into every form."""
        self.opened = (round_.offset if round_.number > 1 else 0, self.facts, self.page.body_bytes)
        for name, content in round_.media.items():
            path = self.shelf.media / name
            if not path.exists():
                files.make_folder(self.shelf.media)
                files.write_atomic(path, [content])
        path = self.shelf.round_file(round_.number)
        data = rounds.encode(round_)
        if round_.number > self.first or not path.exists() or path.read_bytes() != data:
            files.write_atomic(path, [data])
        self.page.add(round_.messages)
        self.parent.problems += round_.problems(self.file.path)
        self._rows(round_)
        self.facts = self.facts.after(round_)
        self.previous = round_

    def _rows(self, round_: Round) -> None:
        """Rows wait until there are enough of them to be worth sending."""
        if self.parent.version:
            return
        if self.side is None:
            relative = f"{self.shelf.folder.name}/rounds/{round_.number:03d}.json"
            tag = self.parent.tags.get(round_.number)
            self.round_rows.append(rows.round_row(round_, self.facts.session_id, relative, tag))
            self.branches += self._branch(round_)
        self.usage += rows.usage_rows(round_, self.side)
        for row in rows.text_rows(round_, self.side, self.since):
            self.texts.append(row)
            self.waiting_bytes += len(row.body)
            if self.waiting_bytes > ROWS_BYTES:
                self._flush()

    def _flush(self) -> None:
        sent = self.round_rows[self.sent_rounds :]
        self.parent.sink(Rows(tuple(sent), tuple(self.texts), tuple(self.usage), tuple(self.branches)))
        self.sent_rounds = len(self.round_rows)
        self.texts, self.usage, self.branches, self.waiting_bytes = [], [], [], 0

    def _branch(self, round_: Round) -> tuple[tuple[int, int], ...]:
        """Where a round continues another than the one before it: a rewind."""
        if not round_.parent or not self.previous or round_.number == 1:
            return ()
        if any(_holds(block, round_.parent) for block in self.previous.blocks()):
            return ()
        follows = versions.round_with(self.shelf, round_.parent, round_.number - 1)
        return () if follows is None else ((round_.number, follows),)

    def _end(self, kept: Kept) -> None:
        self._flush()
        offset, before, body_before = self.opened
        top = make_head(self.parent, self.shelf, self.file, self.facts, self.old_facts)
        self.page.finish(top)
        if self.side is None:
            self.parent.summary = top.summary
        versions.remove_stale_rounds(self.shelf, self.facts.rounds)
        if self.side is None and not self.parent.version:
            every = session_db.write(self.shelf, self.first, self.round_rows)
            listings.write_session_listing(self.shelf, top.title, every)
        self.progress = Progress(
            size=kept.size,
            open_offset=offset,
            body_bytes=body_before,
            whole_body_bytes=self.page.body_bytes,
            indexed=self._indexed(),
            before=before,
            facts=self.facts,
        )

    def _indexed(self) -> int:
        """The end of what was read as whole records; an unfinished last line is reported and read later."""
        if self.torn is None:
            return self.read_bytes
        try:
            codec.loads(self.torn.raw)
        except ValueError:
            what = f"the last line is unfinished ({self.torn.length} bytes)"
            self.parent.problems.append(Problem(self.file.path, self.torn.offset, what, self.torn.length))
            return self.torn.offset
        return self.read_bytes


def _holds(block: Any, record_id: str) -> bool:
    result = getattr(block, "result", None)
    return block.ref.id == record_id or (result is not None and result.id == record_id)


def _without_transcript(found: Found, sidechains: Iterable[Facts]) -> Facts:
    """A session of which only the subagents are left."""
    facts = Facts(found.session_id, found.source, native_id=found.native_id)
    sides = list(sidechains)
    starts = [f.started for f in sides if f.started]
    ends = [f.ended for f in sides if f.ended]
    return structs.replace(
        facts,
        started=min(starts, default=None),
        ended=max(ends, default=None),
        title="(only subagents are left)",
        title_by="prompt",
        cwd=next((f.cwd for f in sides if f.cwd), None),
    )


def make_head(
    inscription: Inscription, shelf: Shelf, file: SourceFile, facts: Facts, old_facts: Facts | None
) -> head.Head:
    """The head of a document; a summary that somebody wrote and the first source are kept."""
    existing = page.load_head(shelf.document)
    source = inscription.source
    name = facts.agent_name or source.family.capitalize()
    date = (facts.started or "undated")[:10]
    fields: dict[str, Any] = {
        "session_id": facts.session_id,
        "agent_id": inscription.task.agent_id,
        "role": existing.fields.get("role") if existing else None,
        "model": facts.model,
        "started": facts.started,
        "ended": facts.ended,
        "messages": facts.messages,
        "source": existing.fields.get("source") if existing else file.path,
        "engagements": existing.fields.get("engagements", []) if existing else [],
    }
    title = f"{name} · {date}" if not facts.sidechain else f"{name} · subagent {facts.sidechain} · {date}"
    return head.Head(fields, _own_fields(facts), title, _summary(existing, facts, old_facts))


def _own_fields(facts: Facts) -> dict[str, Any]:
    own: dict[str, Any] = {"version": head.DOCUMENT_VERSION, "format": facts.source, "title": facts.display_title}
    optional = {
        "cwd": facts.first_cwd or facts.cwd,
        "branch": facts.branch,
        "native_id": facts.native_id,
        "sidechain": facts.sidechain,
        "links": [f"{link.kind} {link.session}" for link in facts.links],
    }
    return own | {name: value for name, value in optional.items() if value}


def _summary(existing: head.Head | None, facts: Facts, old_facts: Facts | None) -> str:
    """A placeholder until somebody writes a better one."""
    if existing and existing.summary and existing.summary != placeholder(old_facts or facts):
        return existing.summary
    return placeholder(facts)


def placeholder(facts: Facts) -> str:
    return " ".join(escape_placeholder(facts.display_title).split())[:200]


def escape_placeholder(text: str) -> str:
    """A title may begin like markup; the summary line must stay a plain line."""
    return text.lstrip("#-> \t") or "(no prompt)"
