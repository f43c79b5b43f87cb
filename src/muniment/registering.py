"""Saying who a session was: its entry in the roster, and whatever else shows the name.

An entry is a session's own if no other session of the archive begins so. One that fits several stays when one of them
is registered or taken out.
"""

from __future__ import annotations

from collections.abc import Callable

from muniment.errors import Ambiguous, NotFound
from muniment.ingest import pipeline
from muniment.store import index, roster
from muniment.store.layout import Layout, short_id
from muniment.store.roster import Entry


def add(layout: Layout, session_id: str, agent_name: str | None, role: str | None) -> None:
    """Register a session, in place of what was registered for it alone."""
    others = index.session_ids(layout) - {session_id}
    entry = Entry(short_id(session_id, others), agent_name, role)
    roster.put(layout, entry, roster.load(layout).only_of(session_id, others))
    pipeline.rename(layout, [session_id])


def remove(layout: Layout, name: str, find: Callable[[str], str]) -> bool:
    """Take a session out, by any name that `find` gives the id of, or by its registered prefix; tells whether it was
    there."""
    ids = index.session_ids(layout)
    prefixes = _registered(layout, name, find, ids)
    if not prefixes:
        return False
    roster.remove(layout, prefixes)
    pipeline.rename(layout, [id_ for id_ in ids if id_.startswith(tuple(prefixes))])
    return True


def _registered(layout: Layout, name: str, find: Callable[[str], str], ids: set[str]) -> set[str]:
    """The prefixes that `name` stands for in the roster: a session's own, or the very one that was given."""
    known = roster.load(layout)
    try:
        session_id = find(name)
    except Ambiguous:
        if given := {entry.session_id for entry in known.entries if entry.session_id == name.lower()}:
            return given
        raise
    except NotFound:
        return known.only_of(name.lower(), ids)
    own = known.only_of(session_id, ids - {session_id})
    if not own and (shared := known.of(session_id)):
        hint = f"`muniment roster remove {shared.session_id}` takes it from all of them"
        raise Ambiguous(f"{shared.session_id} is registered, which other sessions begin with too", hint)
    return own
