"""One transcript into every form: evidence, rounds, document and rows, from the open round on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from msgspec import structs

from muniment import files
from muniment.errors import MunimentError
from muniment.inscribe.heads import make_head
from muniment.inscribe.messages import Begin, Progress, Rows, Sink, Task
from muniment.inscribe.open_texts import Moved, OpenTexts, fingerprint
from muniment.model import Facts, Problem, Round, codec
from muniment.sources import salvage
from muniment.sources.base import Former, Source, SourceFile
from muniment.sources.lines import MAX_LINE_BYTES, Record, records
from muniment.store import evidence, listings, page, rounds, rows, session_db, versions
from muniment.store.branches import find_branch
from muniment.store.evidence import Appender, Kept
from muniment.store.layout import ROUNDS, Shelf, round_name
from muniment.store.rows import Span

ROWS_BYTES = 4 << 20
"""Searchable text collected before it is handed on."""


class TranscriptWriter:
    """One transcript: evidence, rounds, document and rows, from the open round on."""

    def __init__(
        self, task: Task, version: str, evidence_folder: Path, shelf: Shelf, file: SourceFile, kept: Kept, same: Span
    ) -> None:
        self.task = task
        self.indexed = not version
        """Older versions are kept, not indexed."""
        self.evidence = evidence_folder
        self.shelf = shelf
        self.file = file
        self.kept = kept
        self.same = same
        """Records that the index knows."""
        self.side = file.id if file.role == "sidechain" else None
        self.problems: list[Problem] = []
        self.bytes_read = 0
        self.last_line = self.end = 0
        self.unended: list[bytes] = []
        self.round_rows: list[rows.RoundRow] = []
        self.sent_rounds = 0
        self.places: list[rows.Place] = []
        """Of the texts of the round that came last."""
        self.texts: list[rows.TextRow] = []
        self.usage: list[rows.UsageRow] = []
        self.branches: list[tuple[int, int]] = []
        self.waiting_bytes = 0

    def run(
        self, source: Source, sink: Sink, progress: Progress | None, tags: Mapping[int, str], added: Iterable[bytes]
    ) -> Kept:
        """Write everything, with the bytes that were added to the source; returns the evidence as it now stands."""
        self.sink, self.tags = sink, tags
        self._begin(progress)
        appender = Appender(self.evidence, self.kept, self.shelf.unseen)
        known = evidence.read(self.evidence, self.kept, self.start) if self.kept.frames else ()
        pieces = source.open(self.file.name, chain(known, appender.through(self._count(added))))
        lines = records(self._watch(pieces), self.start)
        former = Former(partial(rounds.load, self.shelf), lambda: self.facts)
        for round_ in source.read_on(lines, self.facts, former):
            self._round(round_)
        kept = structs.replace(appender.close(), mtime_ns=self.file.mtime_ns)
        self._end(source, kept)
        if not self.shelf.unseen:
            versions.remove_stale_rounds(self.shelf, self.facts.rounds)
        return kept

    def replay(self, source: Source, sink: Sink, tags: Mapping[int, str]) -> None:
        """Write document and rows from the round files, where the evidence that they came from is damaged."""
        self.sink, self.tags = sink, tags
        self._begin(None)
        self.last_line = self.end = self.kept.size
        for number in rounds.numbers(self.shelf):
            try:
                self._take(rounds.load(self.shelf, number))
            except MunimentError as error:
                self.problems.append(Problem(str(self.shelf.round_file(number)), 0, error.message))
        # Rounds may be lost too, and then the document is all that has their words.
        self._end(source, self.kept, with_document=page.is_damaged(self.shelf.document))

    def _begin(self, progress: Progress | None) -> None:
        """Take up where the last run left off: at the start of the open round."""
        self.start = self.last_line = self.end = progress.open_offset if progress else 0
        self.facts = progress.before if progress else self._no_facts()
        self.page = page.Page(self.shelf, progress.body_bytes if progress else 0)
        self.opened = (self.start, self.facts, self.page.body_bytes)
        self.first = self.facts.rounds + 1
        self.open = OpenTexts(self.shelf, self.side, self.first, progress if self.indexed else None, self.same)
        self.previous: Round | None = rounds.load(self.shelf, self.first - 1) if self.first > 1 else None
        self.shelf.make_folder(ROUNDS)
        found = self.task.found
        place = (self.side, self.first, self.open.until, self.same, self.indexed)
        self.sink(Begin(found.session_id, self.task.agent_id, found.source, *place))

    def _no_facts(self) -> Facts:
        found = self.task.found
        facts = Facts(found.session_id, found.source, native_id=found.native_id, sidechain=self.side)
        return structs.replace(facts, prompts_only=self.file.role == "history")

    def _count(self, added: Iterable[bytes]) -> Iterator[bytes]:
        for piece in added:
            self.bytes_read += len(piece)
            yield piece

    def _watch(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Remember where the last line begins, and what there is of it if it has no end."""
        offset = self.start
        for piece in pieces:
            at = piece.rfind(b"\n") + 1
            if at:
                self.last_line, self.unended = offset + at, []
            offset += len(piece)
            if offset - self.last_line <= MAX_LINE_BYTES:
                self.unended.append(piece[at:])
            self.end = offset
            yield piece

    def _round(self, round_: Round) -> None:
        """One round into every form."""
        for name, content in round_.media.items():
            self._keep_media(self.shelf.media / name, content)
        data = rounds.encode(round_)
        if round_.number > self.first or self.shelf.unseen or not rounds.is_stored(self.shelf, round_.number, data):
            self.shelf.write(round_name(round_.number), data)
        self._take(round_)

    def _keep_media(self, path: Path, content: bytes) -> None:
        """Media are named after their content; where all is read anew, what lies there may be damaged."""
        if self.start == 0 and not self.shelf.unseen:
            files.write_if_changed(path, content)
        elif not path.exists():
            self.shelf.put(str(path), [content])

    def _take(self, round_: Round) -> None:
        """One round into the document and the rows."""
        self.opened = (round_.offset if round_.number > 1 else 0, self.facts, self.page.body_bytes)
        self.page.add(round_.messages)
        self.problems += round_.problems(self.file.path)
        self._rows(round_)
        self.facts = self.facts.after(round_)
        self.previous = round_

    def _rows(self, round_: Round) -> None:
        """Rows wait until there are enough of them to be worth sending."""
        if not self.indexed:
            return
        if self.side is None:
            self.round_rows.append(self._row(round_))
            follows = find_branch(self.shelf, self.previous, round_)
            self.branches += [] if follows is None else [(round_.number, follows)]
        self.usage += rows.usage_rows(round_, self.side)
        self.places = []
        known = self.open if self.open.any else None
        for place, text in rows.placed(round_, self.side):
            self.places.append(place)
            if (known and known.has(place, text)) or not (words := rows.words_in(text)):
                continue
            self.texts.append((place, words))
            self.waiting_bytes += len(words[0])
            if self.waiting_bytes > ROWS_BYTES:
                self._flush()

    def _flush(self, moves: Sequence[Moved] = ()) -> None:
        sent = self.round_rows[self.sent_rounds :]
        rows_ = (tuple(sent), tuple(self.texts), tuple(self.usage), tuple(self.branches))
        self.sink(Rows(*rows_, self.waiting_bytes, tuple(moves)))
        self.sent_rounds = len(self.round_rows)
        self.texts, self.usage, self.branches, self.waiting_bytes = [], [], [], 0

    def _end(self, source: Source, kept: Kept, with_document: bool = True) -> None:
        self._flush(self.open.moves())
        offset, before, body_before = self.opened
        top = make_head(source, self.task.agent_id, self.shelf, self.file.path, self.facts)
        if with_document:
            self.page.finish(top)
        self.summary = top.summary
        if self.side is None and self.indexed:
            every = session_db.write(self.shelf, self.first, self.round_rows, self._former_rows)
            listings.write_session_listing(self.shelf, top.title, every)
        indexed = self._read_until()
        self.progress = Progress(
            size=kept.size,
            open_offset=offset,
            body_bytes=body_before,
            whole_body_bytes=self.page.body_bytes,
            indexed=indexed,
            before=before,
            facts=self.facts,
            edition=kept.edition,
            open_texts=fingerprint(self.places, indexed),
        )

    def _former_rows(self) -> list[rows.RoundRow]:
        """The rows of closed rounds, from their files."""
        return [self._row(rounds.load(self.shelf, number)) for number in range(1, self.first)]

    def _row(self, round_: Round) -> rows.RoundRow:
        file = round_name(round_.number)
        return rows.round_row(round_, self.facts.session_id, file, self.tags.get(round_.number))

    def _read_until(self) -> int:
        """The end of what was read as whole records; an unfinished last line is reported and read later."""
        line = Record(self.last_line, b"".join(self.unended), self.end - self.last_line, torn=True)
        unread = self._unfinished(line) if line.length else None
        if unread is None:
            return self.end
        what = f"the last line is unfinished ({unread.length} bytes)"
        self.problems.append(Problem(self.file.path, unread.offset, what, unread.length))
        return unread.offset

    def _unfinished(self, line: Record) -> Record | None:
        """What is not there in full of a last line without a newline.

        The line counts if it is JSON, or if a block was made of it all the same; then what stands behind its whole
        records does not."""
        if codec.is_json(line.raw):
            return None
        blocks = self.previous.blocks() if self.previous else ()
        if not any(block.ref.offset + block.ref.length >= self.last_line for block in blocks):
            return line
        *_, last = salvage.parts(line) if len(line.raw) == line.length else (line,)
        return None if last.offset == line.offset or codec.is_json(last.raw) else last
