"""What a person says about a session: the engagement of its rounds, its summary, its tags.

Tags are kept as edits, so that nothing unsays them; the summary stands in the document, as if written there by hand.
Round files are not touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from msgspec import structs

from muniment.errors import MunimentError, NotFound, StoreError
from muniment.ingest import settle
from muniment.model import codec
from muniment.model.engagements import Ingested
from muniment.store import edits, engagements, head, index, listings, page
from muniment.store.edits import Edit
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.store.session_table import Listed

MAX_SUMMARY = 500
MAX_TAGS = 30
MAX_TAG = 60
MAX_NAME = 200


def tag(layout: Layout, session: Listed, rounds: Sequence[int], engagement_id: str | None) -> None:
    """Tag rounds by hand; without an engagement, what extraction found holds again."""
    for round_ in rounds:
        if not 1 <= round_ <= session.rounds:
            raise NotFound(f"no round {round_}", f"the session has {session.rounds}")
    with index.lock(layout, lambda: None), Index(layout, write=True) as known:
        for round_ in rounds:
            edits.append(layout, Edit(now(), "engagement", session.session_id, round_, engagement_id))
        record = _record(layout, session.session_id)
        known.begin()
        known.tag(session.session_id, engagements.tags(layout, record, session.session_id))
        if record:
            settle.in_files(layout, record, session.agent_id)
            engagements.put(layout, [record])
            engagements.write_listing(layout)
        else:
            settle.by_hand(layout, session.session_id, session.agent_id)
        known.commit()


def summarise(layout: Layout, session: Listed, text: str) -> str:
    """Write the summary line as by hand; an empty one gives it back to the machine. Gives the line as it stands."""
    words = line(text, MAX_SUMMARY, "summary")
    shelf = layout.shelf(session.agent_id, session.session_id)
    with index.lock(layout, lambda: None), Index(layout, write=True) as known:
        top = page.load_head(shelf.document)
        if top is None and not session.rounds:
            raise NotFound(f"session {session.session_id} has no document to write it into", "only subagents are left")
        if top is None:
            raise StoreError(f"{shelf.document}: the document is missing", "`muniment reindex` writes it anew")
        summary = words or str(top.own.get(head.FILLED_IN) or head.placeholder(str(top.own.get("title", ""))))
        page.replace_head(shelf.document, structs.replace(top, summary=summary))
        known.begin()
        known.put_summary(session.session_id, summary)
        if record := _record(layout, session.session_id):
            known.put_ingested(structs.replace(record, session_summary=summary))
        listings.write_archive_listings(layout, known)
        known.commit()
    return summary


def set_tags(layout: Layout, session: Listed, tags: Iterable[str]) -> tuple[str, ...]:
    """Call a session by these tags and no others; gives them as they are kept."""
    kept = tuple(dict.fromkeys(words for tag in tags if (words := line(tag, MAX_TAG, "tag"))))
    if len(kept) > MAX_TAGS:
        raise MunimentError(f"{len(kept)} tags are too many", f"at most {MAX_TAGS}")
    with index.lock(layout, lambda: None), Index(layout, write=True) as known:
        edits.append(layout, Edit(now(), "tags", session.session_id, None, codec.encode(kept).decode()))
        known.begin()
        known.put_tags(session.session_id, kept)
        known.commit()
    return kept


def tags_of(layout: Layout, session: Listed) -> tuple[str, ...]:
    """What people call a session."""
    return edits.tags(layout, session.session_id)


def _record(layout: Layout, session_id: str) -> Ingested | None:
    return next((record for record in engagements.load(layout) if record.session_id == session_id), None)


def line(text: str, limit: int, what: str) -> str:
    """Words of a person on one line, as every file of the store can hold them."""
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    if len(words) > limit:
        raise MunimentError(f"this {what} is too long", f"at most {limit} characters")
    return words


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
