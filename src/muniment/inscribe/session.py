"""One session on its way into the store: which version it is, then file by file, then what the index may say."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from msgspec import structs

from muniment import files, sources
from muniment.errors import Conflict, Damaged, MunimentError
from muniment.inscribe import mending
from muniment.inscribe.keeper import Keeper
from muniment.inscribe.mending import Mended
from muniment.inscribe.messages import Done, Outcome, Progress, Sink, Task, is_transcript, key_path, stand_in
from muniment.inscribe.transcript import TranscriptWriter
from muniment.model import Facts, Problem, codec
from muniment.sources.base import Found, SourceFile
from muniment.store import edits, evidence, head, listings, page, rounds, versions
from muniment.store.evidence import Kept, Manifest
from muniment.store.layout import SIDECHAINS, Layout, Shelf
from muniment.store.rows import NOTHING, Span
from muniment.store.session_table import SessionRow
from muniment.store.versions import Choice


class Inscription:
    """One session on its way into the store."""

    def __init__(self, layout: Layout, task: Task, sink: Sink) -> None:
        self.task = task
        self.found = task.found
        self.source = sources.named(task.found.source)
        self.sink = sink
        self.current = layout.shelf(task.agent_id, task.found.session_id)
        self.unseen = layout.unseen_shelf(task.found.session_id)
        self.tags = edits.engagements(layout, task.found.session_id)
        self.problems: list[Problem] = []
        self.progress: dict[str, Progress] = {}
        """Of every transcript of the version that is worked on, by the name of its evidence."""
        self.moved: tuple[str, str, Facts] | None = None
        self.summary: str | None = None
        self.damage: tuple[Problem, ...] | None = None
        """What is still damaged, where the evidence was verified."""

    def run(self) -> Outcome:
        """What the source says now, into the store."""
        is_new = not self.current.exists()
        if not is_new:
            self._refuse_other()
        choice = Choice() if is_new else self._choose()
        staged = is_new or choice.set_aside
        if staged:
            self._take_up_new()
        else:
            self._take_up(choice.version)
        known = {} if staged else self.task.progress.get(choice.version, {})
        self.progress = {name: codec.decode(state, Progress) for name, state in known.items()}
        half = None if self.keeper.manifest.main else stand_in(self.found.files)
        for file in self.found.files:
            if file.role == "main" and choice.skip_main:
                self._contained(file)
            elif file.role in ("main", "sidechain") or file is half:
                self._transcript(self.keeper.joined(file), choice)
            else:
                self.keeper.side_file(file)
        self.keeper.save()
        self._list_subagents()
        if staged:
            self._publish(choice)
        return self._done(self._what(choice), choice.note)

    def rebuild(self, version: str) -> Outcome:
        """Everything derived, anew from the evidence, which is mended first; what is beyond that, from the rounds."""
        self.version = version
        self.shelf = self.current.version(version) if version else self.current
        mended = mending.mend(self.shelf, self.source, self.task.sources, self.task.manifests.get(version))
        self.keeper = Keeper(self.shelf, mended.manifest, self.found, self.source)
        for kept in _transcripts(mended.manifest, self.shelf, self.found):
            mending.free_places(self._shelf_of(_as_kept(kept)))
            if mended.manifest and kept.name not in mended.unsound:
                self._rewrite(kept)
            else:
                self._replay(kept)
        self._list_subagents()
        self.damage = mended.problems
        self.problems += mended.problems
        return self._done(self._what_of(mended), _note_of(mended))

    def _what_of(self, mended: Mended) -> str:
        """What a rebuild came to."""
        if mended.problems:
            return "damaged"
        return "healed" if mended.healed or self.task.marked else "rebuilt"

    def _replay(self, kept: Kept) -> None:
        """A transcript whose evidence is damaged; where its rounds are lost too, what the index knew of it stays."""
        shelf = self._shelf_of(_as_kept(kept))
        former = self.task.progress.get(self.version, {}).get(kept.name)
        if not rounds.numbers(shelf) and former:
            self.progress[kept.name] = codec.decode(former, Progress)
            return
        writer = TranscriptWriter(self.task, self.version, self.shelf.evidence, shelf, _as_kept(kept), kept, NOTHING)
        writer.replay(self.source, self.sink, self.task.tags | self.tags)
        self._keep_state(kept, writer)

    def _keep_state(self, kept: Kept, writer: TranscriptWriter) -> None:
        """Remember how far a transcript is read, and what went wrong."""
        self.progress[kept.name] = writer.progress
        if writer.side is None:
            self.summary = writer.summary
        self.problems += writer.problems

    def _refuse_other(self) -> None:
        """Two sessions must not occupy one path: a document of another one stays, and all beside it.

        Beside evidence of this session it is no other one's: its id was damaged or changed, and it is kept aside."""
        if evidence.exists(self.current.evidence):
            return
        if other := page.other_session(self.current.document, self.found.session_id):
            told = f"{self.current.document} is the document of another session, {other}"
            raise Conflict(told, "move it away, or give it back the session_id that its file is named after")

    def _choose(self) -> Choice:
        """The version that the found files belong to."""
        files.make_folder(self.current.folder)
        if self.task.tried and versions.set_damaged_aside(self.current):
            self.problems.append(Problem(str(self.current.evidence), 0, "damaged evidence was set aside"))
        manifest = evidence.load(self.current.evidence)
        if manifest is None and self.task.manifests.get("") and not self.task.tried:
            raise Damaged("the manifest is missing", evidence.HEAL, str(self.current.evidence))
        try:
            return versions.choose(self.current, self.found, self.source)
        except Damaged:
            if not self.task.tried:
                raise
            note = "what was kept is damaged, and the source has other content by now; both are kept"
            return Choice(set_aside=True, note=note)

    def _take_up(self, version: str) -> None:
        self.version = version
        self.shelf = self.current.version(version) if version else self.current
        manifest = evidence.load(self.shelf.evidence)
        self.keeper = Keeper(self.shelf, manifest, self.found, self.source, self.task.tried)

    def _take_up_new(self) -> None:
        """A session that is new, or whose source was rewritten, is put together where nobody looks."""
        self.version = ""
        self.shelf = self.unseen
        self.shelf.clear()
        self.keeper = Keeper(self.shelf, None, self.found, self.source)

    def _publish(self, choice: Choice) -> None:
        """What was put together goes where people look."""
        if choice.set_aside:
            self._set_aside()
        else:
            self.unseen.become(self.current)
        self.shelf = self.current

    def _set_aside(self) -> None:
        """The source was rewritten, or what was current came in a bundle: it becomes an older version."""
        manifest = evidence.load(self.current.evidence)
        assert manifest, "what is set aside is known"
        main = manifest.main or manifest.files[0]
        hash8 = versions.free_name(self.current, main.digest[:8])
        state = self.task.progress.get("", {}).get(main.name)
        old = codec.decode(state, Progress).facts if state else Facts(self.found.session_id, self.found.source)
        versions.replace(self.current, self.unseen, self.current.version(hash8))
        self.moved = (hash8, main.path, old)

    # -- transcripts

    def _contained(self, file: SourceFile) -> None:
        """A transcript that brings nothing new; its kept content may still have to be read after a killed run."""
        kept = self.keeper.manifest.main
        assert kept, "only a known transcript contains another"
        self.keeper.copy_of(kept, file)
        if kept.name not in self.progress:
            self._rewrite(kept)

    def _transcript(self, file: SourceFile, choice: Choice) -> None:
        kept = self.keeper.kept_of(file)
        if kept and kept.place is not None:  # kept apart from the one that is read
            self.keeper.side_file(structs.replace(file, role="side"))
            return
        progress = self._usable(file, kept)
        if kept and file.role != "history" and self._is_rewritten(kept, file):
            if kept.path != file.path:
                self.keeper.rewritten(kept, file, self.source.content(file))
            else:
                self._anew(kept, file, choice, progress)
            return
        if progress and kept and progress.size == kept.size >= file.size:
            self.keeper.seen(kept, file)
            return
        if kept and self.source.packed(kept.name):
            progress = None  # offsets are those of the records, and the bytes of a record are not to be found
        made = self._write(kept or Kept(file.name, file.role, file.path, id=file.id), file, progress)
        self.keeper.put(made, file)

    def _is_rewritten(self, kept: Kept, file: SourceFile) -> bool:
        """Whether a file no longer begins with what is kept of it; damage beyond mending is not to be appended to."""
        try:
            return versions.rewritten(self.shelf.evidence, kept, file, self.source)
        except Damaged:
            if not self.task.tried:
                raise
            return True

    def _usable(self, file: SourceFile, kept: Kept | None) -> Progress | None:
        """How far a transcript is read, if evidence and document are still those that were read."""
        progress = self.progress.get(kept.name) if kept else None
        if progress is None or kept is None or self._edited(self._shelf_of(file), progress):
            return None
        return progress if progress.size <= kept.size and progress.edition == kept.edition else None

    def _anew(self, kept: Kept, file: SourceFile, choice: Choice, progress: Progress | None) -> None:
        """A transcript that was written anew in its place: it goes beside what it held, or instead of it."""
        grown = choice.grown
        if file.role != "main":
            with contextlib.suppress(Damaged):  # then what is kept stays beside it
                grown = versions.superseded(self.shelf.evidence, self.keeper.manifest, kept, file, self.source)
        known = progress and progress.size == kept.size
        same = grown.same if grown and known else NOTHING
        begun = self.keeper.supersede(kept, grown.former) if grown else self.keeper.set_old(kept)
        self.keeper.put(self._write(begun, file, None, same), file)

    def _write(self, kept: Kept, file: SourceFile, progress: Progress | None, same: Span = NOTHING) -> Kept:
        """Write a transcript with what its source has beyond what is kept of it."""
        return self._run(kept, file, progress, same, self.source.content(file, kept.size))

    def _rewrite(self, kept: Kept) -> None:
        """Write a transcript anew from its evidence alone: its source may be gone by now, or say something else."""
        self._run(kept, _as_kept(kept), None, NOTHING, ())

    def _run(self, kept: Kept, file: SourceFile, progress: Progress | None, same: Span, added: Iterable[bytes]) -> Kept:
        shelf = self._shelf_of(file)
        if progress is None and not shelf.unseen:
            self._keep_edited(shelf)
        writer = TranscriptWriter(self.task, self.version, self.shelf.evidence, shelf, file, kept, same)
        known = self.task.tags if progress else {}  # where all is read anew, rounds may be other ones
        made = writer.run(self.source, self.sink, progress, known | self.tags, added)
        self._keep_state(made, writer)
        self.keeper.bytes_read += writer.bytes_read
        return made

    def _shelf_of(self, file: SourceFile) -> Shelf:
        return self.shelf.sidechain(file.id) if file.role == "sidechain" and file.id else self.shelf

    def _edited(self, shelf: Shelf, progress: Progress) -> bool:
        """A document that is not what the index knows is written anew from the evidence."""
        path = shelf.document
        if page.body_bytes(path) != progress.whole_body_bytes or page.is_edited(path):
            return True
        return shelf is self.shelf and page.other_session(path, self.found.session_id) is not None

    def _keep_edited(self, shelf: Shelf) -> None:
        """What somebody wrote, here or with another program, is kept aside before a document is written anew.

        One that is whole was left by a killed run, or says the same."""
        path = shelf.document
        if page.other_session(path, self.found.session_id) or (page.is_edited(path) and path.stat().st_size):
            note = f"the document was edited; the edited one is kept as {versions.keep_edited(shelf).name}"
            self.problems.append(Problem(str(path), 0, note))

    # -- the end

    def _what(self, choice: Choice) -> str:
        if self.version or self.moved:
            return "version" if self.keeper.changed else "unchanged"
        if self.keeper.known is None:
            return "new"
        if self.keeper.changed:
            return "appended"
        return "shrunk" if choice.note else "unchanged"

    def _done(self, what: str, note: str) -> Outcome:
        """Tell the index, and whoever asked."""
        row = self._row()
        outcome = Outcome(
            session_id=self.found.session_id,
            path=key_path(self.found),
            what=what,
            rounds=row.facts.rounds,
            messages=row.facts.messages,
            bytes_read=self.keeper.bytes_read,
            problems=tuple(self.problems),
            note=note,
        )
        progress = tuple((name, codec.encode(state)) for name, state in self.progress.items())
        path, signature = key_path(self.found), self.task.signature
        obsolete = evidence.former_editions(self.shelf.evidence, self.keeper.manifest)
        copy = mending.copy_manifest(self.keeper.manifest) if self.keeper.manifest.files else None
        gone = tuple(map(str, obsolete))
        about = (progress, self.moved, outcome, gone, copy, self.damage)
        self.sink(Done(row, self.version, path, signature, *about))
        return outcome

    def _list_subagents(self) -> None:
        """They may come before the transcript or long after it, so they have a part of the listing to themselves."""
        facts, sidechains = self._facts()
        if sidechains:
            listings.write_subagents(self.shelf, facts.display_title, sidechains)

    def _facts(self) -> tuple[Facts, dict[str, Facts]]:
        """What is known of the session and of its subagents."""
        facts = [state.facts for state in self.progress.values()]
        sidechains = {f.sidechain: f for f in facts if f.sidechain}
        # What stood for a transcript is still known when there is one: it comes last.
        own = sorted((f for f in facts if not f.sidechain), key=lambda f: (f.prompts_only, not f.prompts))
        return own[0] if own else _without_transcript(self.found, sidechains.values()), sidechains

    def _row(self) -> SessionRow:
        facts, sidechains = self._facts()
        manifest = self.keeper.manifest
        return SessionRow(
            session_id=self.found.session_id,
            agent_id=self.task.agent_id,
            facts=facts,
            summary=self._summary(facts),
            sidechains=sidechains,
            source_bytes=sum(kept.size for kept in manifest.files),
            path=(manifest.main or (manifest.files or self.found.files)[0]).path,
        )

    def _summary(self, facts: Facts) -> str:
        """The one-line summary as it stands in the document; where there is none, what would stand there."""
        if self.summary is not None:
            return self.summary
        top = None
        with contextlib.suppress(MunimentError, OSError):  # a damaged document tells nothing
            top = page.load_head(self.shelf.document)
        return top.summary if top else head.placeholder(facts.display_title)


def _transcripts(manifest: Manifest | None, shelf: Shelf, found: Found) -> Iterator[Kept]:
    """The transcripts that a manifest lists; where it is lost, those that rounds are left of."""
    if manifest:
        yield from (kept for kept in manifest.files if is_transcript(kept, manifest.files))
        return
    first = found.files[0]
    yield Kept(first.name, "main", first.path)
    sides = shelf.folder / SIDECHAINS
    for path in sorted(sides.iterdir()) if sides.is_dir() else ():
        if path.is_dir():
            yield Kept(f"{SIDECHAINS}/{path.name}", "sidechain", first.path, id=path.name)


def _note_of(mended: Mended) -> str:
    if mended.problems:
        return "the archive is damaged, and no source has what is lost; `muniment doctor` tells what it is"
    return "damaged evidence was mended from its source" if mended.healed else ""


def _as_kept(kept: Kept) -> SourceFile:
    """A file as the evidence has it: nothing is added to it."""
    return SourceFile(kept.path, kept.name, kept.role, kept.size, kept.mtime_ns, id=kept.id)


def _without_transcript(found: Found, sidechains: Iterable[Facts]) -> Facts:
    """A session of which only subagents or side files are left."""
    facts = Facts(found.session_id, found.source, native_id=found.native_id)
    sides = list(sidechains)
    starts = [f.started for f in sides if f.started]
    ends = [f.ended for f in sides if f.ended]
    return structs.replace(
        facts,
        started=min(starts, default=None),
        ended=max(ends, default=None),
        transcript_gone=True,
        title="(only subagents are left)" if sides else "(only side files are left)",
        title_by="prompt",
        cwd=next((f.cwd for f in sides if f.cwd), None),
    )
