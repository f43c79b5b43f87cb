"""One session: what is known of it, its rounds, its engagements and its subagents."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any

from muniment import budget as budgets
from muniment import sources
from muniment.errors import NotFound
from muniment.model import Facts, codec
from muniment.render.shown import Light
from muniment.search import FoundEngagement, Query
from muniment.search.engagements import every
from muniment.search.query import teach
from muniment.store import head, page
from muniment.store.index import Index
from muniment.store.layout import Layout, Shelf
from muniment.store.session_table import Listed
from muniment.viewing.everything import named_by_hand
from muniment.viewing.shapes import (
    BudgetAnswer,
    Engagement,
    EngagementAnswer,
    Linked,
    RoundShown,
    Session,
    SessionAnswer,
    Side,
)
from muniment.viewing.transcript import Transcripts, first_items

StartedBy = Callable[[], dict[str, tuple[int, str]]]


def session(layout: Layout, state: str, session_id: str, transcripts: Transcripts) -> SessionAnswer:
    """A session, with what its items are."""
    light = transcripts.light(shelf_of(layout, session_id))  # which may take its time: not while the index is open
    with Index(layout) as index:
        teach(index)
        listed = index.find(session_id)
        shelf = layout.shelf(listed.agent_id, session_id)
        found = [_engagement(one) for one in every(layout, index, Query(session=session_id))]
        about = _session(index, listed, shelf, found)
        rounds = _rounds(index, listed, light)
        sides = _sides(index, listed, rounds, light, lambda: transcripts.started_by(shelf))
        return SessionAnswer(state, about, found, rounds, sides, light)


def shelf_of(layout: Layout, session_id: str, side: str | None = None) -> Shelf:
    """Where a session lies, or one of its subagents."""
    with Index(layout) as index:
        listed = index.find(session_id)
        shelf = layout.shelf(listed.agent_id, session_id)
        if side is None:
            return shelf
        sql = "SELECT 1 FROM sidechains c JOIN sessions s ON s.id = c.session WHERE s.session_id = ? AND c.id = ?"
        if not index.rows(sql, session_id, side):
            raise NotFound("the session has no such subagent")
        return shelf.sidechain(side)


def budget(layout: Layout, state: str, session_id: str, env: Mapping[str, str]) -> BudgetAnswer:
    """How full the window of a session was, and what it cost."""
    with Index(layout) as index:
        listed = index.find(session_id)
    return BudgetAnswer(state, budgets.read(layout, listed, env), budgets.FULL)


def _session(index: Index, listed: Listed, shelf: Shelf, found: list[Engagement]) -> Session:
    facts = index.facts(listed.session_id)
    key = index.rows("SELECT id FROM sessions WHERE session_id = ?", listed.session_id)[0][0]
    sql = "SELECT ghost, agent_name, agent_role, slug FROM ingested WHERE session_id = ?"
    ghost, name, role, slug = (index.rows(sql, listed.session_id) or [(None, None, None, None)])[0]
    models = index.rows("SELECT model, count(*) FROM usage WHERE session = ? GROUP BY 1 ORDER BY 2 DESC", key)
    return Session(
        session_id=listed.session_id,
        title=listed.title,
        summary=listed.summary,
        summary_by_hand=_by_hand(shelf),
        agent_id=listed.agent_id,
        agent_name=name or facts.agent_name,
        agent_role=role,
        source=listed.source,
        model=listed.model,
        models=[model for model, _ in models if model],
        project=next((one.project for one in found if one.project), None),
        cwd=listed.cwd,
        branch=listed.branch,
        slug=slug or facts.slug,
        started=listed.started,
        ended=listed.ended,
        rounds=listed.rounds,
        messages=listed.messages,
        tool_calls=listed.tool_calls,
        tokens=listed.tokens,
        problems=listed.problems,
        ghost=None if ghost is None else bool(ghost),
        tags=[tag for (tag,) in index.rows("SELECT tag FROM tags WHERE session_id = ?", listed.session_id)],
        links=[_link(index, link.kind, link.session) for link in facts.links],
        copies=_copies(index, listed.session_id),
        versions=[hash8 for (hash8,) in index.rows("SELECT hash8 FROM versions WHERE session = ?", key)],
        resume_command=_resume(listed, facts),
    )


def _by_hand(shelf: Shelf) -> bool:
    top = page.load_head(shelf.document)
    return top is not None and head.written_by_hand(top)


def _link(index: Index, kind: str, session_id: str) -> Linked:
    found = index.rows("SELECT title FROM sessions WHERE session_id = ?", session_id)
    return Linked(kind, session_id, found[0][0] if found else None)


def _copies(index: Index, session_id: str) -> list[str]:
    sql = """SELECT o.session_id FROM sessions s JOIN sessions o ON o.origin = s.origin AND o.id <> s.id
      WHERE s.session_id = ? AND s.origin IS NOT NULL ORDER BY o.id"""
    return [id_ for (id_,) in index.rows(sql, session_id)]


def _resume(listed: Listed, facts: Facts) -> str:
    """What a person types to go on with a session; nothing where its transcript is gone."""
    try:
        command = sources.named(listed.source).resumed(facts)
    except NotFound:  # a source that was installed once
        return ""
    return "" if listed.transcript_gone or (not listed.rounds and listed.sidechains) else command


# -- rounds and subagents


def _rounds(index: Index, listed: Listed, light: Light) -> list[RoundShown]:
    sql = """SELECT round, started, engagement_id, token_count, tool_count, user_preview, agent_preview
      FROM rounds WHERE session_id = ? ORDER BY round"""
    rows = index.rows(sql, listed.session_id)
    abandoned = index.abandoned(listed.session_id)
    first = first_items(light, int(rows[-1][0]) if rows else 0)
    return [
        RoundShown(number, started, tag, tokens, tools, first[int(number) - 1], number in abandoned, asked or answered)
        for number, started, tag, tokens, tools, asked, answered in rows
    ]


def _sides(index: Index, listed: Listed, rounds: list[RoundShown], light: Light, started_by: StartedBy) -> list[Side]:
    sql = "SELECT c.id, c.facts FROM sidechains c JOIN sessions s ON s.id = c.session WHERE s.session_id = ?"
    known = [(id_, codec.decode(text.encode(), Facts)) for id_, text in index.rows(sql, listed.session_id)]
    if not known:
        return []
    items = started_by()
    starts = [round_.started or "" for round_ in rounds]
    made = [_side(id_, facts, items.get(id_), starts, light) for id_, facts in known]
    return sorted(made, key=lambda side: (side.round, side.started or ""))


def _side(id_: str, facts: Facts, by: tuple[int, str] | None, starts: list[str], light: Light) -> Side:
    item, task = by or (None, "")
    round_ = light.round[item] if item is not None else round_at(starts, facts.started)
    about: tuple[Any, ...] = (facts.messages, facts.tool_calls, facts.tokens, facts.started, facts.ended, facts.model)
    return Side(id_, task or facts.display_title, round_, item, *about)


def round_at(starts: list[str], time: str | None) -> int:
    """The round during which something happened, by the times at which the rounds began."""
    return max(1, bisect_right(starts, time)) if time else 1


# -- engagements


def engagement(layout: Layout, state: str, engagement_id: str, session_id: str | None) -> EngagementAnswer:
    """One engagement by its name, in one session or in the first that knows it."""
    with Index(layout) as index:
        teach(index)
        sql = "SELECT session_id FROM engagements WHERE engagement_id = ?1 AND ?2 IN (session_id, '') ORDER BY id"
        known = index.rows(sql, engagement_id, session_id or "")
        found = every(layout, index, Query(session=known[0][0])) if known else named_by_hand(layout, index)
        for one in found:
            if one.engagement_id == engagement_id and session_id in (None, one.session_id):
                return EngagementAnswer(state, _engagement(one))
    raise NotFound("no such engagement", "it may have been found anew under another name")


def _engagement(one: FoundEngagement) -> Engagement:
    return Engagement(
        engagement_id=one.engagement_id or "",
        session_id=one.session_id,
        topic=one.topic,
        project=one.project,
        method=one.method,
        phase=one.phase,
        key_decisions=one.key_decisions,
        outcome=one.outcome,
        next_steps=one.next_steps,
        turn_ranges=one.turn_ranges,
        started=one.started,
        ended=one.ended,
        extractor=one.extractor or "",
    )
