"""`search`: engagements first, then files, then words, each with the place to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from muniment import search
from muniment.model.words import many, numbered, shortened
from muniment.search import Findings, FoundEngagement, Hit, Query, Touched
from muniment.store.layout import Layout
from muniment.surfaces.mcp.fence import REDACTOR, Answer

MAX_LIMIT = 25
_WORDS = 240


def find(layout: Layout, query: Query) -> Answer:
    """What answers the query; nothing found is an answer too."""
    found = search.find(layout, query, REDACTOR)
    data = REDACTOR.value(_data(found))
    return Answer(_said(found, layout), data, "\n".join(_lines(data)))


def _said(found: Findings, layout: Layout) -> str:
    parts = ((found.engagements, "engagement"), (found.files, "session"), (found.hits, "passage"))
    counted = [many(len(part), noun) for part, noun in parts if part]
    if not counted:
        there = search.searched(layout)
        nothing = f"Nothing found in {many(there.sessions, 'session')}."
        return f"{nothing} Fewer words, or begin* for the beginning of one, find more."
    return f"Found {', '.join(counted)}. Read more with `read`: session, subagent if named, and round; or engagement."


def _data(found: Findings) -> dict[str, Any]:
    return {
        "engagements": [_engagement(e) for e in found.engagements],
        "files": [_touched(t) for t in found.files],
        "hits": [_hit(h) for h in found.hits],
    }


def _engagement(e: FoundEngagement) -> dict[str, Any]:
    return {
        "engagement": e.engagement_id,
        "session": e.session_id,
        "rounds": ranges(e.turn_ranges),
        "when": (e.started or "")[:16],
        "agent": e.agent_name or e.agent_role or e.agent_id,
        "method": e.method,
        "phase": e.phase,
        "project": e.project,
        "topic": shortened(e.topic, _WORDS),
        "outcome": shortened(e.outcome, _WORDS),
        "decisions": [shortened(decision, _WORDS) for decision in e.key_decisions[:3]],
        "next_steps": [shortened(step, _WORDS) for step in e.next_steps[:3]],
    }


def _touched(t: Touched) -> dict[str, Any]:
    numbers = {"changed": list(t.changed[-10:]), "named": list(t.named[-10:])}
    return {"session": t.session_id, "when": (t.started or "")[:16], "title": shortened(t.title, _WORDS)} | numbers


def _hit(h: Hit) -> dict[str, Any]:
    return {
        "session": h.session_id,
        "round": h.round if h.sidechain else h.opens,
        "when": (h.started or "")[:16],
        "kind": h.kind,
        "tool": h.tool,
        "subagent": h.sidechain,
        "snippet": h.snippet,
        "title": shortened(h.title, 80),
    }


def ranges(turns: Sequence[tuple[int, int]]) -> str:
    """`3-9,14`"""
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in turns)


def _lines(data: dict[str, Any]) -> Iterator[str]:
    """The same as text: one line for each, and under it what is worth more."""
    for e in data["engagements"]:
        about = " · ".join(filter(None, (e["method"], e["phase"], e["project"])))
        yield f"* {e['topic']} [{about}]"
        yield from (
            f"  {name}: {words}" for name in ("outcome", "decisions", "next_steps") if (words := _joined(e[name]))
        )
        where = f"session {e['session']} {numbered('round', e['rounds'])}"
        yield f"  {e['when']} {e['agent']} · engagement {e['engagement']} · {where}"
    for t in data["files"]:
        touched = ((what, ", ".join(map(str, t[what]))) for what in ("changed", "named") if t[what])
        done = "; ".join(f"{what} in {numbered('round', rounds)}" for what, rounds in touched)
        yield f"* {t['title']} · {done} · {t['when']} · session {t['session']}"
    for h in data["hits"]:
        where = " ".join(filter(None, (h["kind"], h["tool"], h["subagent"] and f"of subagent {h['subagent']}")))
        yield f"* {h['snippet']}\n  {where} · {h['when']} · session {h['session']} round {h['round']}"


def _joined(words: str | list[str]) -> str:
    return words if isinstance(words, str) else "; ".join(words)
