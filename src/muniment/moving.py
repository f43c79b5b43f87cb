"""Moving a session into the bucket of its role, and bringing moves to their end that were cut off.

The decision is written down first; then folder and document are renamed, then the index says so. Whoever finds a
decision that the index does not know does the rest of it, so a move that was killed anywhere ends as one that was not.
"""

from __future__ import annotations

import os
import re

from msgspec import structs

from muniment import files
from muniment.errors import NotFound
from muniment.ingest import settle
from muniment.store import edits, engagements, index, listings, page, roster
from muniment.store.edits import Edit
from muniment.store.index import Index
from muniment.store.layout import Layout, safe_name
from muniment.store.session_table import Listed
from muniment.tagging import now


def bucket(role: str) -> str:
    """The folder name of a role: `Lead Historian` is `lead-historian`."""
    return safe_name(re.sub(r"[^a-z0-9]+", "-", role.lower()).strip("-") or role)


def to_role(layout: Layout, session: Listed) -> str:
    """Move a session to the bucket of its registered role."""
    entry = roster.load(layout).of(session.session_id)
    if entry is None or not entry.role:
        hint = f"`muniment roster add {session.session_id} --role ROLE` registers one"
        raise NotFound(f"no role is registered for {session.session_id}", hint)
    target = bucket(entry.role)
    with index.lock(layout, lambda: None), Index(layout, write=True) as known:
        if known.agents().get(session.session_id) != target:
            edits.append(layout, Edit(now(), "move", session.session_id, None, target))
        finish(layout, known)
    return target


def finish(layout: Layout, known: Index) -> None:
    """Do what is decided and not yet done; the caller holds the lock."""
    agents = known.agents()
    moves = {s: to for s, to in edits.moves(layout).items() if agents.get(s, to) != to}
    if not moves:
        return
    known.begin()
    for session_id, target in moves.items():
        _move(layout, session_id, agents[session_id], target)
        known.move(session_id, agents[session_id], target)
    _reword(layout, known, moves)
    listings.write_archive_listings(layout, known)
    known.commit()


def _move(layout: Layout, session_id: str, old: str, new: str) -> None:
    """Folder and document, each by one rename; done already counts as done."""
    source, target = layout.shelf(old, session_id), layout.shelf(new, session_id)
    files.make_folder(target.folder.parent)
    for before, after in ((source.folder, target.folder), (source.document, target.document)):
        if before.exists() and not after.exists():
            os.rename(before, after)
    top = page.load_head(target.document)
    if top:
        page.replace_head(target.document, structs.replace(top, fields=top.fields | {"agent_id": new}))


def _reword(layout: Layout, known: Index, moves: dict[str, str]) -> None:
    """What the records of engagements say of the bucket."""
    changed = [
        structs.replace(record, agent_id=moves[record.session_id])
        for record in engagements.load(layout)
        if record.session_id in moves
    ]
    if not changed:
        return
    engagements.put(layout, changed)
    engagements.write_listing(layout)
    for record in changed:
        top = page.load_head(layout.shelf(record.agent_id, record.session_id).document)
        settle.in_index(layout, known, record, top.summary if top else record.session_summary)


def finish_files(layout: Layout) -> None:
    """The part of `finish` that needs no index: for whoever builds it anew from the folders."""
    for session_id, target in edits.moves(layout).items():
        for folder in sorted(layout.sessions.iterdir()):
            left = folder / session_id
            if folder.name != target and (left.exists() or left.with_suffix(".md").exists()):
                _move(layout, session_id, folder.name, target)
