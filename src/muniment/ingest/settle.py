"""Putting what was understood of a session beside it: tags on its rounds, the head of its document, its listing.

Round files are not touched. A summary that a person wrote stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from muniment.model.engagements import Ingested, KeptEngagement
from muniment.store import engagements, head, listings, page, session_db
from muniment.store.index import Index
from muniment.store.layout import Layout, Shelf


def in_files(layout: Layout, record: Ingested, agent_id: str) -> str:
    """Tag the session's own files; gives the summary line as it now stands."""
    shelf = layout.shelf(agent_id, record.session_id)
    top = page.load_head(shelf.document)
    if top is None:
        return record.session_summary
    new = _head(top, record)
    tag_files(shelf, engagements.tags(layout, record, record.session_id), new.title)
    if new != top:
        page.replace_head(shelf.document, new)
    return new.summary


def tag_files(shelf: Shelf, tags: Mapping[int, str], title: str) -> None:
    """The engagement of every round, in the session's own database and listing."""
    if shelf.database.exists():
        listings.write_session_listing(shelf, title, session_db.tag(shelf, tags))


def in_index(layout: Layout, index: Index, record: Ingested, summary: str) -> None:
    """The same in the index of all sessions; it finds what a person wrote, the record keeps what was extracted."""
    index.put_ingested(structs.replace(record, session_summary=summary))
    index.put_summary(record.session_id, summary)
    index.tag(record.session_id, engagements.tags(layout, record, record.session_id))


def _touched(engagement: KeptEngagement) -> dict[str, str | None]:
    """How a document names an engagement; where it stood at first is known only if an agent told."""
    return {
        "id": engagement.engagement_id,
        "phase_at_start": engagement.phase_at_start,
        "phase_at_end": engagement.phase,
    }


def _head(top: head.Head, record: Ingested) -> head.Head:
    fields = top.fields | {
        "role": record.agent_role,
        "engagements": [_touched(engagement) for engagement in record.engagements],
    }
    own = top.own
    summary, title = top.summary, top.title
    if not head.written_by_hand(top):
        summary = record.session_summary
        own = own | {head.FILLED_IN: summary}
    if record.agent_name:
        own = own | {head.NAMED: record.agent_name}
        title = f"{record.agent_name} · {(record.started or 'undated')[:10]}"
    return structs.replace(top, fields=fields, own=own, summary=summary, title=title)
