"""`muniment html --all`: every session as a page, and an index by date that tells what was done.

A page carries a stamp of what it was made from; one whose stamp is still right is not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path

from msgspec import Struct, structs

from muniment import files
from muniment.errors import Conflict
from muniment.model.words import many
from muniment.render import html, known, page
from muniment.render.blocks import words
from muniment.render.cards import card
from muniment.render.html import Request, Written
from muniment.render.inspection import redact_markup
from muniment.render.known import Known
from muniment.render.visible import one_line
from muniment.secrets import new_key
from muniment.store.index import Index
from muniment.store.layout import Layout, is_session_id

FOLDER = "sessions"


class Site(Struct, frozen=True):
    """What became of a site."""

    path: str
    pages: int
    written: int
    redacted: int | None


def write(layout: Layout, folder: Path, request: Request, report: Callable[[Written], None]) -> Site:
    """The index and a page for each session below a folder."""
    request = structs.replace(request, key=request.key or new_key())
    if folder.exists() and not folder.is_dir():
        raise Conflict(f"{folder} is no folder", "nothing was written; a site has many files")
    html.refuse_overwrite(folder / "index.html", request.force)
    files.make_folder((folder / FOLDER).absolute())
    records = known.understood(layout)
    with Index(layout) as stored:
        sessions = [known.load(layout, stored, row, records.get(row.session_id)) for row in stored.sessions()]
    made = [done for session in sessions if (done := _page(session, folder, request))]
    for done in made:
        report(done)
    _remove_forgotten(folder, {session.listed.session_id for session in sessions})
    files.write_if_changed((folder / "index.html").absolute(), index(sessions, request))
    redacted = sum(done.redacted or 0 for done in made) if request.redact else None
    return Site(str(folder / "index.html"), len(sessions), len(made), redacted)


def _page(session: Known, folder: Path, request: Request) -> Written | None:
    path = folder / FOLDER / f"{session.listed.session_id}.html"
    if html.stamp_of(path) == html.stamp(session, request):
        return None
    return html.write(session, path, request)


def _remove_forgotten(folder: Path, kept: set[str]) -> None:
    """Pages of ours whose session is no longer in the archive."""
    for path in (folder / FOLDER).glob("*.html"):
        if is_session_id(path.stem) and path.stem not in kept and html.is_ours(path):
            path.unlink()


# -- the index


def index(sessions: list[Known], request: Request) -> bytes:
    """The page that leads to all others."""
    redactor = request.redactor()
    title = redactor.line(request.title or "Sessions")
    pieces = _pieces([session.redacted(redactor) for session in sessions], title)
    foot = page.foot("Written by muniment.")
    return f"{page.head(title)}{redact_markup(''.join(pieces), redactor)}{foot}".encode("utf-8", "replace")


def _pieces(sessions: list[Known], title: str) -> Iterator[str]:
    work = sum(len(session.engagements) for session in sessions)
    yield '<body>\n<div class="bar" role="toolbar" aria-label="View" hidden><div class="find">'
    yield '<input type="search" placeholder="Search this page" aria-label="Search this page"><output></output></div>'
    yield '<div class="rest"><button type="button" data-do="theme">Theme</button></div></div>\n'
    yield f'<div class="page index"><main><header class="about"><h1>{words(title)}</h1>'
    yield f'<p class="summary">{many(len(sessions), "session")}, {many(work, "engagement")}</p></header>\n'
    for day, of_day in groupby(sessions, key=lambda session: (session.listed.started or "undated")[:10]):
        yield from _day(day, of_day)
    yield "</main></div>\n"


def _day(day: str, sessions: Iterable[Known]) -> Iterator[str]:
    work, ghosts = _parted(sessions)
    yield f'<section class="round"><h2>{words(day)}</h2>\n'
    for session in work:
        yield from _session(session)
    if ghosts:
        yield f'<details class="ghosts"><summary>{len(ghosts):,} without substantive work</summary>\n'
        for session in ghosts:
            yield from _session(session)
        yield "</details>\n"
    yield "</section>\n"


def _parted(sessions: Iterable[Known]) -> tuple[list[Known], list[Known]]:
    """Sessions with work in them, and ghosts."""
    parts: tuple[list[Known], list[Known]] = ([], [])
    for session in sessions:
        parts[bool(session.ingested and session.ingested.ghost)].append(session)
    return parts


def _session(session: Known) -> Iterator[str]:
    listed = session.listed
    link = f"{FOLDER}/{listed.session_id}.html"
    title = one_line(session.title, 160)
    yield f'<article class="item session"><h3><a href="{link}">{words(title)}</a></h3>'
    about = (
        session.agent,
        listed.model or "",
        page.minute(listed.started)[11:],
        f"{listed.rounds:,} round{'' if listed.rounds == 1 else 's'}",
    )
    yield f'<p class="line">{"".join(f"<span>{words(one)}</span>" for one in about if one)}</p>'
    if session.summary:
        yield f'<p class="summary">{words(session.summary)}</p>'
    yield from (card(engagement, link) for engagement in session.engagements)
    yield "</article>\n"
