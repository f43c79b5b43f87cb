"""What the index knows of sessions, as lineage needs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from muniment.lineage.values import Member
from muniment.model import Facts, codec, projects
from muniment.sources import all_sources
from muniment.store.index import Index

MAX_TERMS = 400
_WORD = re.compile(r"[^\W\d][\w-]{2,40}\.[a-z]{1,4}\b(?![./])|[^\W\d]\w{2,30}")
"""A word, or the name of a file."""

_SESSIONS = """SELECT s.session_id, s.source, s.agent_id, s.title, s.facts, coalesce(i.ghost, s.prompts = 0),
  (SELECT count(*) FROM versions v WHERE v.session = s.id), s.id
FROM sessions s LEFT JOIN ingested i ON i.session_id = s.session_id"""


def members(index: Index, only_explicit: bool) -> Iterator[Member]:
    sides = _sidechains(index)
    terms = {} if only_explicit else _terms(index)
    for id_, source, agent_id, title, facts_text, ghost, versions, key in index.rows(_SESSIONS):
        facts = codec.decode(facts_text.encode(), Facts)
        cwd = facts.first_cwd or facts.cwd
        yield Member(
            id=id_,
            source=source,
            agent_id=agent_id,
            title=title,
            project=projects.root(cwd) if cwd else None,
            branch=facts.branch,
            started=facts.started,
            ended=facts.ended,
            rounds=facts.rounds,
            links=facts.links,
            native_id=facts.native_id,
            sidechains=tuple(sides.get(key, ())),
            ghost=bool(ghost),
            versions=versions,
            terms=frozenset(terms.get(id_, ())),
            prompt=facts.first_prompt or "",
        )


def _sidechains(index: Index) -> dict[int, list[tuple[str, str, str | None]]]:
    """The subagents of each session as they began; one without a time first. SQLite would take a text out of their
    facts as well, but half a character in it as bytes that are no text."""
    found: dict[int, list[tuple[str, str, str | None]]] = {}
    for key, id_, facts_text in index.rows("SELECT session, id, facts FROM sidechains ORDER BY session, id"):
        facts = codec.decode(facts_text.encode(), Facts)
        found.setdefault(key, []).append((id_, facts.first_prompt or "", facts.started))
    for own in found.values():
        own.sort(key=lambda one: one[2] or "")
    return found


def _terms(index: Index) -> dict[str, set[str]]:
    """The words of prompts, titles and topics, of every session."""
    found: dict[str, set[str]] = {}
    rows: list[tuple[Any, ...]] = [
        *index.rows("SELECT session_id, title FROM sessions"),
        *index.rows("SELECT session_id, topic FROM engagements"),
        *index.rows("SELECT session_id, user_preview FROM rounds WHERE user_preview <> ''"),
    ]
    for session_id, text in rows:
        own = found.setdefault(session_id, set())
        if len(own) < MAX_TERMS:
            own.update(_WORD.findall(text.lower()))
    everywhere = _names_everywhere()
    return {session_id: own - everywhere for session_id, own in found.items()}


def _names_everywhere() -> set[str]:
    """Files that every project has: to name one says nothing."""
    instructed = {name.rpartition("/")[2].lower() for s in all_sources() for name in s.instruction_files.names}
    return {*instructed, "readme.md", "changelog.md"}


_NAMED = """SELECT DISTINCT s.session_id, t.kind IN ('user', 'compaction') FROM texts_fts
  JOIN texts t ON t.id = texts_fts.rowid JOIN sessions s ON s.id = t.session
WHERE texts_fts MATCH ? AND s.session_id <> ? AND t.round <= 2 AND t.sidechain IS NULL"""


def named(index: Index) -> dict[str, dict[str, str]]:
    """Which ids of sessions stand at the beginning of others. The full text knows the parts of an id as words."""
    found: dict[str, dict[str, str]] = {}
    for (id_,) in index.rows("SELECT session_id FROM sessions"):
        for holder, said in index.rows(_NAMED, f'"{id_.replace("-", " ")}"', id_):
            own = found.setdefault(holder, {})
            own[id_] = "said" if said or own.get(id_) == "said" else "seen"
    return found
