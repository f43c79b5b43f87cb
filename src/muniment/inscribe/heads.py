"""The head of a document, made from the facts; what people wrote into it is kept."""

from __future__ import annotations

from typing import Any

from muniment.errors import MunimentError
from muniment.model import Facts
from muniment.sources.base import Source
from muniment.store import head, page
from muniment.store.layout import Shelf


def make_head(source: Source, agent_id: str, shelf: Shelf, path: str, facts: Facts) -> head.Head:
    """The head of a document; a summary that somebody wrote and the first source are kept."""
    existing = None if shelf.unseen else _existing(shelf, facts.session_id)
    kept = existing.fields if existing else {}
    own = existing.own if existing else {}
    name = own.get(head.NAMED) or facts.agent_name or source.family.capitalize()
    date = (facts.started or "undated")[:10]
    fields: dict[str, Any] = {
        "session_id": facts.session_id,
        "agent_id": agent_id,
        "role": kept.get("role"),
        "model": facts.model,
        "started": facts.started,
        "ended": facts.ended,
        "messages": facts.messages,
        "source": _source(existing, path, facts),
        "engagements": kept.get("engagements") or [],
    }
    title = f"{name} · {date}" if not facts.sidechain else f"{name} · subagent {facts.sidechain} · {date}"
    title += " · only the prompts are left" if facts.prompts_only else ""
    given = {name: own[name] for name in (head.NAMED, head.FILLED_IN) if name in own}
    return head.Head(fields, _own_fields(facts) | given, title, _summary(existing, facts))


def _existing(shelf: Shelf, session_id: str) -> head.Head | None:
    """The head that is there; a damaged one, or that of another session, tells nothing."""
    try:
        top = page.load_head(shelf.document)
    except (MunimentError, OSError):
        return None
    return top if top and top.fields.get("session_id") in (None, session_id) else None


def _source(existing: head.Head | None, path: str, facts: Facts) -> str:
    """Where the session was first found; a history that stood for the transcript makes way for it."""
    stood_in = bool(existing and existing.own.get("prompts_only")) and not facts.prompts_only
    return (None if stood_in or not existing else existing.fields.get("source")) or path


def _own_fields(facts: Facts) -> dict[str, Any]:
    own: dict[str, Any] = {"version": head.DOCUMENT_VERSION, "format": facts.source, "title": facts.display_title}
    optional = {
        "cwd": facts.first_cwd or facts.cwd,
        "branch": facts.branch,
        "native_id": facts.native_id,
        "sidechain": facts.sidechain,
        "prompts_only": facts.prompts_only,
        "links": [f"{link.kind} {link.session}" for link in facts.links],
    }
    return own | {name: value for name, value in optional.items() if value}


def _summary(existing: head.Head | None, facts: Facts) -> str:
    """What somebody wrote or extraction found, else a placeholder; the title beside the old one tells which it was."""
    if existing and existing.summary and existing.summary != head.placeholder(str(existing.own.get("title", ""))):
        return existing.summary
    return head.placeholder(facts.display_title)
