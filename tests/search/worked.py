"""Sessions with engagements, without an extractor: what ingestion would have written."""

from __future__ import annotations

import uuid
from typing import Any

from muniment.archive import Archive
from muniment.model.engagements import Ingested, KeptEngagement
from muniment.store import engagements as engagements_file
from muniment.store.index import Index


def session_id(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def engagement(name: str, number: int, turns: tuple[int, int], **more: Any) -> KeptEngagement:
    fields: dict[str, Any] = {
        "topic": f"work {number} of {name}",
        "method": "build",
        "phase": "completed",
        "turn_range": turns,
        "turn_ranges": (turns,),
        "engagement_id": f"{session_id(name)[:8]}-{number}",
        "extractor": "offline-3",
        "started": "2026-03-19T10:00:00.000Z",
        "ended": "2026-03-19T11:00:00.000Z",
    }
    return KeptEngagement(**(fields | more))


def understand(archive: Archive, name: str, *engagements: KeptEngagement, **more: Any) -> None:
    """Put what a session was understood as into the index, and tag its rounds."""
    about: dict[str, Any] = {
        "session_id": session_id(name),
        "agent_id": "claude",
        "source": "claude-code",
        "state": "x",
    }
    record = Ingested(**(about | {"engagements": engagements} | more))
    with Index(archive.layout, write=True) as index:
        index.begin()
        engagements_file.put(archive.layout, [record])
        index.put_ingested(record)
        tags = {turn: e.engagement_id for e in engagements for a, b in e.turn_ranges for turn in range(a, b + 1)}
        index.tag(record.session_id, tags)
        index.commit()
