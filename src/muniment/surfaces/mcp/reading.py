"""`read`: a session as a list of its rounds, rounds in full, or an engagement with the rounds of it; page by page.

Secrets are taken out of a round before it is cut into pages: half a key is not recognised as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from muniment import files
from muniment.archive import Archive
from muniment.errors import Ambiguous, NotFound
from muniment.model.engagements import runs
from muniment.model.words import numbered
from muniment.search import FoundEngagement, Query
from muniment.store import document, rounds
from muniment.store.index import Index
from muniment.store.layout import Shelf
from muniment.store.rows import RoundRow
from muniment.store.session_table import Listed
from muniment.surfaces.cli.output import many
from muniment.surfaces.mcp.fence import REDACTOR, Answer, fenced
from muniment.surfaces.mcp.finding import ranges

PAGE_CHARS = 16_000
MAX_ROUND_BYTES = 64 << 20
ROUNDS_PER_PAGE = 60
_PREVIEW = 120
_MOST_SUBAGENTS = 50
_NAMING = ("engagements", "rounds")
"""Tables that name engagements: what was found or told, and what a person called some rounds."""


def _session(archive: Archive, name: str) -> Listed:
    try:
        return archive.session(name)
    except NotFound as error:
        raise NotFound(error.message, "search tells ids of sessions; `last` is the latest") from None


def _subagent(archive: Archive, session: Listed, name: str) -> str:
    """The id of a subagent. The ids of others come out of files, so an error, which stands in no fence, names none."""
    try:
        return archive.subagent(session, name)
    except Ambiguous:
        raise Ambiguous("several subagents have an id that begins so", "give more of the id") from None
    except NotFound:
        raise NotFound("the session has no such subagent", "`read` without a round lists them") from None


def _paged(page: int, pages: int) -> str:
    """Which page it is, if there are others, and how to go on."""
    if pages == 1:
        return ""
    return f", page {page} of {pages}" + (f"; ask for page {page + 1} to read on" if page < pages else "")


def overview(archive: Archive, name: str, page: int) -> Answer:
    """What a session is, what was done in it, and its rounds."""
    session = _session(archive, name)
    with Index(archive.layout) as index:
        sql = "SELECT * FROM rounds WHERE session_id = ? ORDER BY round LIMIT ? OFFSET ?"
        rows = index.rows(sql, session.session_id, ROUNDS_PER_PAGE, (page - 1) * ROUNDS_PER_PAGE)
    shown = [RoundRow(*row) for row in rows]
    pages = max(1, -(-session.rounds // ROUNDS_PER_PAGE))
    _require_page(page, pages)
    found = archive.find_engagements(Query(session=session.session_id, limit=50, ghosts=True)) if page == 1 else []
    sides = _subagents(archive, session) if page == 1 and session.sidechains else []
    about = _about(REDACTOR.record(session), shown, map(REDACTOR.record, found))
    data = REDACTOR.value(about | {"subagents": sides, "page": page, "pages": pages})
    how = f"Read a round by its number{', a subagent by its id' if sides else ''}."
    said = f"Session {session.session_id}, {many(session.rounds, 'round')}{_paged(page, pages)}. {how}"
    return Answer(said, data, "\n".join(_told(data)))


def _about(session: Listed, rows: Sequence[RoundRow], found: Iterable[FoundEngagement]) -> dict[str, Any]:
    return {
        "session": session.session_id,
        "title": session.title,
        "summary": session.summary,
        "source": session.source,
        "project": session.cwd,
        "branch": session.branch,
        "started": session.started,
        "ended": session.ended,
        "engagements": [_engagement(e) for e in found],
        "rounds": [
            {
                "round": r.round,
                "prompt": _short(r.user_preview),
                "answer": _short(r.agent_preview),
                "tools": r.tool_count,
            }
            for r in rows
        ],
    }


def _subagents(archive: Archive, session: Listed) -> list[dict[str, Any]]:
    _, sides = archive.facts(session)
    return [
        {
            "subagent": id_,
            "prompt": _short(REDACTOR.record(facts).display_title),
            "rounds": facts.rounds,
            "started": facts.started,
        }
        for id_, facts in sorted(sides.items(), key=lambda side: side[1].started or "")[:_MOST_SUBAGENTS]
    ]


def _short(words: str | None) -> str:
    """The first words on one line; a preview that the index cut may end in half a secret."""
    return REDACTOR.line(" ".join((words or "").split()))[:_PREVIEW]


def _engagement(e: FoundEngagement) -> dict[str, Any]:
    return {
        "engagement": e.engagement_id,
        "topic": e.topic,
        "project": e.project,
        "method": e.method,
        "phase": e.phase,
        "decisions": list(e.key_decisions),
        "outcome": e.outcome,
        "next_steps": list(e.next_steps),
        "session": e.session_id,
        "rounds": ranges(e.turn_ranges),
        "told_by": e.extractor,
    }


def _work(e: dict[str, Any]) -> str:
    """What an engagement is about; a ghost has neither method nor phase."""
    about = ", ".join(filter(None, (e["method"], e["phase"])))
    return f"{e['topic']} [{about}]" if about else e["topic"]


def _told(data: dict[str, Any]) -> Iterator[str]:
    yield "\n".join(filter(None, (data["title"], data["summary"])))
    when = " to ".join(filter(None, (data["started"], data["ended"])))
    yield " · ".join(
        filter(None, (when, data["source"], data["project"], data["branch"] and f"branch {data['branch']}"))
    )
    yield from (f"* {_work(e)} {numbered('round', e['rounds'])}".rstrip() for e in data["engagements"])
    yield from (f"subagent {s['subagent']}: {s['prompt']}" for s in data["subagents"])
    yield from (f"{r['round']}. {r['prompt']} → {r['answer']} ({many(r['tools'], 'tool')})" for r in data["rounds"])


# -- rounds


def some_rounds(archive: Archive, name: str, numbers: Sequence[int], page: int, subagent: str | None = None) -> Answer:
    """Rounds in full, of a session or of one of its subagents."""
    session = _session(archive, name)
    shelf, whose, count = archive.shelf(session), f"Session {session.session_id}", session.rounds
    data: dict[str, Any] = {"session": session.session_id}
    if subagent:
        id_ = _subagent(archive, session, subagent)
        shelf, whose, count = shelf.sidechain(id_), f"{whose}, a subagent", archive.facts(session)[1][id_].rounds
        data["subagent"] = id_
    if wrong := [number for number in numbers if not 1 <= number <= count]:
        raise NotFound(f"there is no round {wrong[0]}", f"the {'subagent' if subagent else 'session'} has {count}")
    text, pages = _page(shelf, numbers, page)
    shown = ranges(runs(numbers))
    data |= {"rounds": shown, "page": page, "pages": pages, "text": fenced(text)}
    what = "round" if len(numbers) == 1 else "rounds"
    return Answer(f"{whose}, {what} {shown}{_paged(page, pages)}.", data, text)


def engagement(archive: Archive, engagement_id: str, page: int) -> Answer:
    """What an engagement was, in each of its sessions, and its rounds in full."""
    with Index(archive.layout) as index:
        sql = " UNION ".join(f"SELECT session_id FROM {table} WHERE engagement_id = ?1" for table in _NAMING)
        sessions = [row[0] for row in index.rows(sql, engagement_id)]
    found = [
        e
        for session in sessions
        for e in archive.find_engagements(Query(session=session, limit=200))
        if e.engagement_id == engagement_id
    ]
    if not found:
        raise NotFound(f"no engagement {engagement_id!r}", "search tells their ids")
    pieces = [(e, _numbers(e)) for e in found]
    text, pages = _pages_of(archive, pieces, page)
    about = [_engagement(REDACTOR.record(e)) for e in found]
    data = REDACTOR.value({"engagement": engagement_id, "sessions": about, "page": page, "pages": pages})
    head = "\n".join(_summed(data["sessions"])) if page == 1 else ""
    said = f"Engagement {engagement_id}{_paged(page, pages)}."
    return Answer(said, data | {"text": fenced(text)}, "\n\n".join(filter(None, (head, text))))


def _summed(sessions: Iterable[dict[str, Any]]) -> Iterator[str]:
    for e in sessions:
        where = f"{e['project']} · session {e['session']} {numbered('round', e['rounds'])}"
        yield f"{_work(e)} · {where}"
        yield from (f"  decided: {words}" for words in e["decisions"])
        yield from (f"  outcome: {words}" for words in (e["outcome"],) if words)
        yield from (f"  next: {words}" for words in e["next_steps"])


def _numbers(e: FoundEngagement) -> list[int]:
    return [number for first, last in e.turn_ranges for number in range(first, last + 1)]


def _pages_of(archive: Archive, pieces: Sequence[tuple[FoundEngagement, list[int]]], page: int) -> tuple[str, int]:
    """The pages of the first session, then those of the next."""
    before = 0
    found = ""
    for e, numbers in pieces:
        shelf = archive.layout.shelf(e.agent_id, e.session_id)
        pages = _pages(shelf, numbers)
        if before < page <= before + len(pages):
            found = pages[page - before - 1]
        before += len(pages)
    _require_page(page, before)
    return found, before


def _page(shelf: Shelf, numbers: Sequence[int], page: int) -> tuple[str, int]:
    pages = _pages(shelf, numbers)
    _require_page(page, len(pages))
    return pages[page - 1], len(pages)


def _require_page(page: int, pages: int) -> None:
    if not 1 <= page <= max(1, pages):
        raise NotFound(f"there is no page {page}", f"the last one is {pages}")


def _pages(shelf: Shelf, numbers: Sequence[int]) -> tuple[str, ...]:
    return _cut(shelf, tuple(numbers), files.changed_at(shelf.round_file(max(numbers))))


@lru_cache(maxsize=1)
def _cut(shelf: Shelf, numbers: tuple[int, ...], _changed: tuple[int, int]) -> tuple[str, ...]:
    """Rounds as text without secrets, in pages that end with a line where they can. The last one asked for is kept."""
    pages: list[str] = []
    text = ""
    for number in numbers:
        text += f"## Round {number}\n\n{_text(shelf, number)}\n\n"
        while len(text) > PAGE_CHARS:
            at = text.rfind("\n", PAGE_CHARS // 2, PAGE_CHARS) + 1 or PAGE_CHARS
            pages.append(text[:at])
            text = text[at:]
    return (*pages, text.rstrip()) if text.strip() or not pages else tuple(pages)


def _text(shelf: Shelf, number: int) -> str:
    path = shelf.round_file(number)
    try:
        if path.stat().st_size > MAX_ROUND_BYTES:
            return f"(round of {path.stat().st_size >> 20} MiB: too large to read here; `muniment show` has it)"
        shown = REDACTOR.round(rounds.load(shelf, number))
    except FileNotFoundError:
        raise NotFound(f"there is no round {number}") from None
    said = (document.render_message(m, shelf.folder.name) for m in shown.messages if not m.silent)
    return REDACTOR.text(document.SEPARATOR.join(said).rstrip("\n"))
