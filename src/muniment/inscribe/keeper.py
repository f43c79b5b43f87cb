"""Keeping the files of a session as evidence: what is new is added, what was rewritten stays beside it.

Two files may hold the same records in other bytes, one of them packed or with other blanks: each is kept, because each
is to come back as it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from msgspec import structs

from muniment.errors import Damaged
from muniment.sources.base import Found, Source, SourceFile
from muniment.store import evidence, versions
from muniment.store.evidence import Appender, Kept, Manifest
from muniment.store.layout import Shelf


class Keeper:
    """The evidence of one session while it is being added to."""

    def __init__(self, shelf: Shelf, known: Manifest | None, found: Found, source: Source, tried: bool = False) -> None:
        self.folder = shelf.evidence
        self.staged = shelf.unseen
        self.known = known
        self.found = found
        self.source = source
        self.tried = tried
        """The evidence was mended as far as it could be: what is still damaged stays beside what is new."""
        self.manifest = self.known or Manifest(found.source, found.session_id, found.root, found.home, found.native_id)
        self.bytes_read = 0
        self.changed = False

    def save(self) -> None:
        """From here on what was added counts."""
        if self.manifest != self.known:
            evidence.save(self.folder, self.manifest, self.staged)

    def kept_of(self, file: SourceFile) -> Kept | None:
        """What is kept of a file: under its path if it was met there, else under its name."""
        # Lines of a bundle's history stay apart: one's own, added to them, would be left out with them by a restore.
        current = [k for k in self.manifest.files if k.role != "old" and not (k.role == "history" and k.bundled)]
        here = (kept for kept in current if kept.path == file.path)
        named = (kept for kept in current if kept.name == file.name)
        return next(here, None) or next(named, None) or (self.manifest.main if file.role == "main" else None)

    def side_file(self, file: SourceFile) -> None:
        """A file that is kept and not read: as it is now, and as it was before if it was rewritten."""
        file = self.joined(file)
        kept = self.kept_of(file)
        if kept and file.text is None and _as_before(kept, file):
            return
        now = b"".join(self.source.content(file))
        before = self._read(kept)
        if kept and before is not None and before.startswith(now):
            self.seen(kept, file)
        elif kept and (before is None or not now.startswith(before)):
            self.rewritten(kept, file, [now])
        else:
            self.put(self._keep(file, kept, [now[len(before or b"") :]]), file)

    def _read(self, kept: Kept | None) -> bytes | None:
        """What is kept of a file; None if that is damaged beyond mending."""
        try:
            return b"".join(evidence.read(self.folder, kept)) if kept else b""
        except Damaged:
            if not self.tried:
                raise
            return None

    def copy_of(self, kept: Kept, file: SourceFile) -> None:
        """A transcript that brings nothing new: it is the beginning of what is kept, or the same in other bytes."""
        packed = self.source.packed(kept.name) or self.source.packed(file.name)
        if not packed or versions.holds_bytes_of(self.folder, kept, file, self.source):
            self.seen(kept, file)
        elif any(known.path == file.path and known.role == "side" for known in self.manifest.files):
            self.side_file(structs.replace(file, role="side"))
        else:
            self._keep_apart(file, self.source.content(file))

    def joined(self, file: SourceFile) -> SourceFile:
        """A history with the lines that are kept of it: agents cut theirs short, and homes have one each."""
        if file.role != "history" or file.text is None:
            return file
        kept = self.kept_of(file)
        before = self._read(kept)
        if before is None or file.text.startswith(before):
            return file
        known = set(before.split(b"\n"))
        added = b"".join(line + b"\n" for line in file.text.split(b"\n") if line not in known)
        return structs.replace(file, text=before + added, size=len(before) + len(added))

    def rewritten(self, kept: Kept, file: SourceFile, pieces: Iterable[bytes]) -> None:
        """Other content under the same name: of the same file, or of one below another folder."""
        if kept.path == file.path:
            self.put(self._keep(file, self.set_old(kept), pieces), file)
        else:
            self._keep_apart(file, pieces)

    def _keep_apart(self, file: SourceFile, pieces: Iterable[bytes]) -> None:
        """A file whose name another one has: it is kept under its own, and not read."""
        name = f"{file.name}@{hashlib.sha256(file.path.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
        own = Kept(name, "side", file.path, root=self.found.root, place=file.name)
        self.put(self._keep(file, own, pieces), file)

    def set_old(self, kept: Kept) -> Kept:
        """The file was rewritten: what it held stays under another name, and it begins anew."""
        self.manifest = versions.keep_old_file(self.folder, self.manifest, kept)
        return structs.replace(kept, frames=())

    def supersede(self, kept: Kept, former: Iterable[bytes]) -> Kept:
        """The file was written anew and says all that it said: of what it held, only the former records stay."""
        name = f"{kept.name}~former"
        rest = self.manifest.get(name) or Kept(name, "old", kept.path)
        appender = Appender(self.folder, rest, self.staged)
        for _ in appender.through(record + b"\n" for record in former):
            pass
        self.manifest = self.manifest.put(appender.close())
        return structs.replace(kept, frames=(), edition=kept.edition + 1)

    def _keep(self, file: SourceFile, kept: Kept | None, pieces: Iterable[bytes]) -> Kept:
        own = kept or Kept(file.name, file.role, file.path, id=file.id, root=self._other_root())
        appender = Appender(self.folder, own, self.staged)
        for piece in appender.through(pieces):
            self.bytes_read += len(piece)
        return structs.replace(appender.close(), mtime_ns=file.mtime_ns)

    def put(self, made: Kept, file: SourceFile) -> None:
        """A file as it now stands; the path that it was first found at keeps what it had."""
        self.changed = True
        before = self.manifest.get(made.name)
        self.manifest = self.manifest.put(made)
        known = before and not self.manifest.is_bundled(before)  # a bundle's path was never seen here
        if before and known and before.path != file.path and self._lay_whole_at_its_path(before):
            root, place = before.root or self.manifest.root, before.place or before.name
            self.manifest = self.manifest.seen_at(made, before.path, root, place, self.manifest.home, before.size)
        self.seen(made, file)

    def _lay_whole_at_its_path(self, kept: Kept) -> bool:
        return self.manifest.size_at(kept, kept.path) == kept.size

    def seen(self, kept: Kept, file: SourceFile) -> None:
        """The file at this path holds the beginning of what is kept."""
        if kept.bundled and file.size >= kept.size:
            kept = self._adopt(kept, file)
        if file.role != "history":
            size = min(file.size, kept.size)
            place = (file.path, self.found.root, file.name, self.found.home, size)
            self.manifest = self.manifest.seen_at(kept, *place)

    def _adopt(self, kept: Kept, file: SourceFile) -> Kept:
        """Return a file of a bundle, found here whole, as what was found: where the bundle has it counts no more."""
        place = None if kept.name == file.name else file.name
        own = structs.replace(kept, path=file.path, root=self._other_root(), place=place, bundled=False)
        self.manifest = self.manifest.put(own)
        return own

    def _other_root(self) -> str | None:
        """Return the folder that names are relative to, where it is not that of the manifest."""
        return None if self.found.root == self.manifest.root else self.found.root


def _as_before(kept: Kept, file: SourceFile) -> bool:
    """Whether nothing can have happened to a file since it was kept."""
    return (kept.path, kept.size, kept.mtime_ns) == (file.path, file.size, file.mtime_ns)
