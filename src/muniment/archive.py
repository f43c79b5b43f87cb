"""The archive as a program sees it: what the command line can do, `import muniment` can do.

from muniment import Archive
archive = Archive()                       # where `muniment` keeps its store
archive.inscribe([Path("~/.claude").expanduser()], print)
archive.restore("last")
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from muniment import batch, check, config, doctor, export, reindex, restore, search, sources
from muniment.errors import NotFound
from muniment.export import Exported, Request
from muniment.inscribe import Outcome
from muniment.model import Facts, Round, codec
from muniment.restore import Restored, Target
from muniment.search import Hit, Query
from muniment.sources.base import Found
from muniment.store import edits, index, listings, page, rounds, session_db
from muniment.store.edits import Edit
from muniment.store.index import Index, Listed
from muniment.store.layout import Layout, Shelf
from muniment.store.rows import fit


class Archive:
    """One store, and everything that can be done with it."""

    def __init__(self, root: str | Path | None = None, env: Mapping[str, str] = os.environ) -> None:
        os.umask(0o077)
        self.env = env
        self.unreadable: list[Path] = []
        """Files that the latest search met and could not read."""
        self.layout = Layout(config.store_root(str(root) if root else None, env))

    # -- in

    def find(self, paths: Sequence[Path] = ()) -> list[Found]:
        """The sessions below these paths; without any, in every place the agents of this machine use."""
        self.unreadable.clear()
        if not paths:
            return list(sources.find_everywhere(self.env))
        return [found for path in paths for found in sources.find_in(path, self.env, self.unreadable)]

    def plan(self, found: Iterable[Found]) -> batch.Plan:
        """What of it is new or has changed. A lost index is built anew first: sessions without a source need it."""
        if not index.exists(self.layout) and self.layout.holds_sessions():
            reindex.reindex(self.layout, lambda _: None)
        return batch.plan(self.layout, found)

    def run(
        self, plan: batch.Plan, report: Callable[[Outcome], None], waiting: Callable[[], None] = lambda: None
    ) -> None:
        """Inscribe what is planned."""
        batch.run(self.layout, plan, report, waiting)

    def inscribe(self, paths: Sequence[Path] = (), report: Callable[[Outcome], None] = lambda _: None) -> int:
        """Find, and inscribe what is new; gives the number of sessions found."""
        found = self.find(paths)
        self.run(self.plan(found), report)
        return len(found)

    # -- looking

    def sessions(self) -> list[Listed]:
        """Every session of the archive, the latest first."""
        if not index.exists(self.layout):
            index.require(self.layout)
            return []
        with Index(self.layout) as known:
            return list(known.sessions())

    def session(self, name: str) -> Listed:
        """A session by UUID, unique prefix, path of its source, or `last`."""
        with Index(self.layout) as known:
            path = fit(str(Path(name).absolute()))
            found = list(known.sessions("WHERE path = ?", path)) if "/" in name or name.endswith(".jsonl") else []
            if not found and (seen := known.seen().get(path or "")):
                return known.find(seen[0])
            return found[0] if found else known.find(name)

    def shelf(self, session: Listed) -> Shelf:
        return self.layout.shelf(session.agent_id, session.session_id)

    def facts(self, session: Listed) -> tuple[Facts, dict[str, Facts]]:
        """What is known of a session and of its subagents."""
        with Index(self.layout) as known:
            sql = "SELECT c.id, c.facts FROM sidechains c JOIN sessions s ON s.id = c.session WHERE s.session_id = ?"
            sides = {id_: codec.decode(text.encode(), Facts) for id_, text in known.rows(sql, session.session_id)}
            return known.facts(session.session_id), sides

    def rounds(self, session: Listed, first: int = 1) -> Iterator[Round]:
        """The stored rounds of a session."""
        return rounds.load_all(self.shelf(session), first)

    def search(self, query: Query) -> list[Hit]:
        """Blocks that have what is looked for, best first."""
        return search.search(self.layout, query)

    # -- out

    def restore(self, name: str, target: Target | None = None) -> list[Restored]:
        """Give the original files back."""
        session = self.session(name)
        facts, _ = self.facts(session)
        return restore.restore(self.shelf(session), facts, target or Target(), self.env)

    def export(self, name: str, request: Request) -> Exported:
        """Write a session in an agent's format."""
        session = self.session(name)
        facts, sides = self.facts(session)
        return export.export(self.shelf(session), facts, sides, request, self.env)

    # -- what people decide

    def tag(self, name: str, round_: int, engagement_id: str | None) -> None:
        """Say which engagement a round belongs to; None takes the tag away. The round file is not touched."""
        session = self.session(name)
        if not 1 <= round_ <= session.rounds:
            raise NotFound(f"no round {round_}", f"the session has {session.rounds}")
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        edits.append(self.layout, Edit(now, "engagement", session.session_id, round_, engagement_id))
        shelf = self.shelf(session)
        with index.lock(self.layout, lambda: None), Index(self.layout, write=True) as known:
            known.begin()
            known.tag(session.session_id, round_, engagement_id)
            every = session_db.tag(shelf, round_, engagement_id)
            top = page.load_head(shelf.document)
            listings.write_session_listing(shelf, top.title if top else "", every)
            known.commit()

    # -- care

    def check(self, paths: Sequence[Path]) -> Iterator[check.Checked]:
        """Check sessions on disk, writing nothing."""
        for found in self.find(paths):
            yield from check.check_found(found)

    def check_stored(self, names: Sequence[str] = ()) -> Iterator[check.Checked]:
        """Check what is in the archive: all of it, or these sessions."""
        chosen = [self.session(name) for name in names] if names else self.sessions()
        for session in chosen:
            yield from check.check_stored(self.shelf(session))

    def doctor(self) -> doctor.Diagnosis:
        """What is at risk on this machine and in this archive."""
        return doctor.diagnose(self.layout, self.find(), self.env)

    def reindex(self, report: Callable[[Outcome], None] = lambda _: None) -> int:
        """Build every index, document and round file anew from the evidence; gives the number of sessions."""
        return reindex.reindex(self.layout, report)

    def forget(self, name: str) -> Listed:
        """Delete one session from the archive: the only deletion there is."""
        session = self.session(name)
        shelf = self.shelf(session)
        with index.lock(self.layout, lambda: None), Index(self.layout, write=True) as known:
            known.begin()
            known.forget_texts(session.session_id, shelf)
            known.drop(session.session_id)
            shelf.document.unlink(missing_ok=True)
            if shelf.folder.exists():
                shutil.rmtree(shelf.folder)
            listings.write_archive_listings(self.layout, known)
            known.commit()
        return session
