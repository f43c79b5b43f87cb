"""A copy of some sessions without their secrets, as a small store of its own, to be bundled in place of the original.

Every line of the evidence is decoded, its strings are looked through, and it is written anew if one of them held a
secret; documents and rounds are then derived from that. What cannot be looked through (a file that is no text, a line
that is too long) is left out. The result is a transcript that reads like the original and is not it: its manifest says
so, and nobody restores it as if it were.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, structs

from muniment import batch, files, reindex, secrets, sources
from muniment.batch import Plan
from muniment.bundle.verify import REDACTED
from muniment.errors import MunimentError
from muniment.inscribe import Outcome, Task
from muniment.model import codec
from muniment.prospective import kept as prospective
from muniment.prospective import sheet
from muniment.secrets import Redactor
from muniment.sources.base import Source
from muniment.sources.lines import records
from muniment.store import edits, engagements, evidence, head, page, roster, versions
from muniment.store.evidence import Appender, Kept
from muniment.store.layout import Layout, Shelf
from muniment.store.session_table import Listed

T = TypeVar("T")
S = TypeVar("S", bound=Struct)


class Hidden(Struct):
    """How much was taken out, and what had to be left out."""

    secrets: int = 0
    left_out: int = 0


def copy(layout: Layout, sessions: Sequence[Listed], root: Path) -> tuple[Layout, Hidden]:
    """The sessions without secrets, as a store below `root`."""
    made, hidden = Layout(root), Hidden()
    hiders = {session.session_id: _Hider(hidden) for session in sessions}
    rebuilt: dict[str, list[Task]] = {}
    for session in sessions:
        shelf, target = (where.shelf(session.agent_id, session.session_id) for where in (layout, made))
        for version in ["", *versions.names(shelf)]:
            own, new = (one.version(version) if version else one for one in (shelf, target))
            hiders[session.session_id].set_(own, new)
            rebuilt.setdefault(version, []).extend(reindex.tasks_of(target, session.agent_id, version))
    _derive(made, rebuilt.values())
    _said(layout, made, hiders)
    _told(layout, made, hiders.keys(), hidden)
    return made, hidden


def _derive(made: Layout, waves: Iterable[Sequence[Task]]) -> None:
    """Documents and rounds; the current version of a session before those beside it."""
    outcomes: list[Outcome] = []
    for tasks in waves:
        batch.carry_out(made, Plan(tuple(tasks), 0), outcomes.append)
    if failed := [outcome.note for outcome in outcomes if outcome.what == "failed"]:
        raise MunimentError(f"a session could not be written without its secrets: {failed[0][:300]}")


class _Hider:
    """Takes secrets out of one session, always the same way, whatever else is in the bundle: who gets the session again
    sees that it is the same, or what is new in it."""

    def __init__(self, hidden: Hidden) -> None:
        self.redactor = Redactor()
        self.hidden = hidden

    def _count(self, hide: Callable[[T], T], given: T) -> T:
        """Return what the redactor makes of something, and count what it takes out."""
        before = self.redactor.taken
        shown = hide(given)
        self.hidden.secrets += self.redactor.taken - before
        return shown

    def value(self, value: Any) -> Any:
        """Return a value of JSON without secrets: the same object if there is none in it."""
        before = self.redactor.taken
        shown = self._count(self.redactor.value, value)
        return value if self.redactor.taken == before else shown

    def text(self, text: str) -> str:
        return self._count(self.redactor.text, text)

    def path(self, path: str) -> str:
        """Return a path without secrets, each of its names by itself, so that the others stay where they are."""
        return "/".join(map(self.text, path.split("/")))

    def record(self, record: S) -> S:
        return self._count(self.redactor.record, record)

    def set_(self, own: Shelf, new: Shelf) -> None:
        """One version of a session: its evidence, and the head of its document."""
        manifest = evidence.load(own.evidence)
        if manifest is None:
            return
        source = sources.named(manifest.source)
        root = self.path(manifest.root)
        made = structs.replace(manifest, root=root, files=(), copies=(), bundled=REDACTED)
        files.make_folder(new.evidence)
        for kept in manifest.files:
            made = made.put(self._kept(own, new, kept, source))
        evidence.save(new.evidence, made)
        if top := page.load_head(own.document):
            shown = self.record(top)
            alone = structs.replace(shown, own=shown.own | {page.BODY_BYTES: 0})
            files.write_atomic(new.document, [head.render(alone, has_messages=False)])

    def _kept(self, own: Shelf, new: Shelf, kept: Kept, source: Source) -> Kept:
        """A file anew; one that the agent had compressed is not compressed again."""
        name = kept.name.removesuffix(".zst") if source.packed(kept.name) else kept.name
        place = kept.place and kept.place.removesuffix(".zst")
        named = {"name": name, "place": place, "path": kept.path, "root": kept.root, "id": kept.id}
        shown = {field: self.path(value) if value else value for field, value in named.items()}
        appender = Appender(new.evidence, structs.replace(kept, frames=(), **shown))
        for _ in appender.through(self._content(own, kept, name, source)):
            pass
        return appender.close()

    def _content(self, own: Shelf, kept: Kept, name: str, source: Source) -> Iterable[bytes]:
        pieces = evidence.read(own.evidence, kept)
        if kept.role == "side" or source.packed(name):
            return self._whole(b"".join(pieces))
        return self._lines(source.open(kept.name, pieces))

    def _lines(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for record in records(pieces):
            if record.length != len(record.raw):
                self.hidden.left_out += 1
                continue
            yield self._line(record.raw) + (b"" if record.torn else b"\n")

    def _line(self, raw: bytes) -> bytes:
        """A line as it is, unless there is a secret in it."""
        try:
            value = codec.loads(raw)
        except ValueError:
            return self.text(raw.decode("utf-8", "replace")).encode()
        found = self.value(value)
        if found is value and not secrets.find(raw.decode("utf-8", "replace")):
            return raw
        return codec.encode(found)

    def _whole(self, data: bytes) -> Iterator[bytes]:
        """A file that is one value or one text; what is neither cannot be looked through."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            self.hidden.left_out += 1
            return
        if text.lstrip()[:1] in ("{", "["):
            yield (
                b"\n".join(self._line(line) for line in data.split(b"\n"))
                if not codec.is_json(data)
                else self._line(data)
            )
        else:
            yield self.text(text).encode()


def _said(layout: Layout, made: Layout, hiders: Mapping[str, _Hider]) -> None:
    """What people said about the sessions and extraction found in them, through the same sieve."""
    for edit in edits.every(layout):
        if hider := hiders.get(edit.session_id):
            value = hider.text(edit.value) if edit.value else edit.value
            edits.append(made, structs.replace(edit, value=value))
    found = [record for record in engagements.load(layout) if record.session_id in hiders]
    if found:
        engagements.put(made, [hiders[record.session_id].record(record) for record in found])
    for entry in roster.load(layout).of_any(hiders):
        hider = next(hiders[id_] for id_ in hiders if id_.startswith(entry.session_id))
        roster.put(made, hider.record(entry))


def _told(layout: Layout, made: Layout, sessions: Container[str], hidden: Hidden) -> None:
    """What agents told of their work, each file by itself: it may be about several sessions."""
    for name, data, record in prospective.copies(layout):
        if any(touch.session_id in sessions for touch in record.sessions):
            text = _Hider(hidden).text(data.decode("utf-8", "replace")).encode()
            sheet.parse(text)
            prospective.keep(made, {name: text})
