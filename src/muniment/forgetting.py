"""Deleting one session from the archive: the only deletion there is, and one that leaves no word behind."""

from __future__ import annotations

import shutil
from pathlib import Path

from muniment import scanning, verifying
from muniment.store import engagements, index, listings, scrub
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.session_table import Listed


def forget(layout: Layout, session: Listed) -> None:
    """Everything of a session goes: its folder, its document, and what the indexes know of it."""
    shelf = layout.shelf(session.agent_id, session.session_id)
    with index.lock(layout, lambda: None), Index(layout, write=True) as known:
        known.begin()
        known.drop(session.session_id)
        scrub.words(known.db)
        shelf.document.unlink(missing_ok=True)
        if shelf.folder.exists():
            shutil.rmtree(shelf.folder)
        engagements.remove(layout, session.session_id)
        scanning.forget(layout, session.session_id)
        verifying.forget(layout, session.session_id)
        engagements.write_listing(layout)
        listings.write_archive_listings(layout, known)
        known.commit()
        scrub.file(known.db)


def left_at(layout: Layout, session: Listed) -> list[str]:
    """Where the files that a session was inscribed from still are: from there it would be taken in again.

    A history is none of them: it is about many sessions, and only a rescue takes one from it."""
    with Index(layout) as known:
        paths = [path for path, (session_id, _, _) in known.seen().items() if session_id == session.session_id]
        if known.facts(session.session_id).prompts_only:
            paths = [path for path in paths if not path.endswith(f"#{session.session_id}")]
    files = (path.removesuffix(f"#{session.session_id}") for path in paths)
    return sorted(path for path in files if Path(path).exists())
