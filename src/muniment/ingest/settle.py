"""Putting what was understood of a session beside it: tags on its rounds, the head of its document, its listing.

Round files are not touched. A summary that a person wrote stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from muniment import sources
from muniment.model import codec
from muniment.model.engagements import Ingested, KeptEngagement, Tagged
from muniment.store import edits, engagements, head, listings, page, session_db
from muniment.store.index import Index
from muniment.store.layout import Layout, Shelf


def in_files(layout: Layout, record: Ingested, agent_id: str) -> str:
    """Tag the session's own files; gives the summary line as it now stands."""
    shelf = layout.shelf(agent_id, record.session_id)
    top = page.load_head(shelf.document)
    if top is None:
        return record.session_summary
    found = [_touched(engagement) for engagement in record.engagements]
    new = _with_touched(_head(top, record), found, engagements.tagged(layout, record.session_id))
    _tag_files(shelf, engagements.tags(layout, record, record.session_id), new.title)
    if new != top:
        page.replace_head(shelf.document, new)
    return new.summary


def by_hand(layout: Layout, session_id: str, agent_id: str) -> None:
    """The same for a session that was not understood so far: what people said of its rounds is all there is.

    What another program wrote into the head stays."""
    shelf = layout.shelf(agent_id, session_id)
    top = page.load_head(shelf.document)
    if top is None:
        return
    said = {edit.value for edit in edits.every(layout) if (edit.session_id, edit.kind) == (session_id, "engagement")}
    others = [entry for entry in top.fields.get("engagements") or () if codec.mapping(entry).get("id") not in said]
    new = _with_touched(top, others, engagements.tagged(layout, session_id))
    _tag_files(shelf, edits.engagements(layout, session_id), new.title)
    if new != top:
        page.replace_head(shelf.document, new)


def _tag_files(shelf: Shelf, tags: Mapping[int, str], title: str) -> None:
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


def _with_touched(top: head.Head, found: Sequence[Any], tagged: Sequence[Tagged]) -> head.Head:
    """A head that names these engagements; where those stand that people named, nobody told."""
    known = {codec.mapping(entry).get("id") for entry in found}
    named = [entry.engagement_id for entry in tagged if entry.engagement_id not in known]
    added = [{"id": name, "phase_at_start": None, "phase_at_end": None} for name in named]
    return structs.replace(top, fields=top.fields | {"engagements": [*found, *added]})


def _family(record: Ingested) -> str:
    """How a session without a name is called."""
    known = {source.name: source.family for source in sources.all_sources()}
    return known.get(record.source, record.source).capitalize()


def _head(top: head.Head, record: Ingested) -> head.Head:
    fields = top.fields | {"role": record.agent_role}
    own = top.own
    summary, title = top.summary, top.title
    if not head.written_by_hand(top):
        summary = record.session_summary
        own = own | {head.FILLED_IN: summary}
    name = record.agent_name
    if name or head.NAMED in own:  # a name that nobody goes by any more leaves the document, too
        own = {key: value for key, value in own.items() if key != head.NAMED} | ({head.NAMED: name} if name else {})
        title = f"{name or _family(record)} · {(record.started or 'undated')[:10]}"
    return structs.replace(top, fields=fields, own=own, summary=summary, title=title)
