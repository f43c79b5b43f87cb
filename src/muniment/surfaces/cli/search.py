"""`muniment search`"""

from __future__ import annotations

import click

from muniment.archive import Archive
from muniment.errors import NotFound
from muniment.search import KINDS, Hit, Query
from muniment.surfaces.cli.output import as_json, line, many, plain, talk


def _kinds(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    named = tuple(name.strip() for name in value.split(",")) if value else ()
    unknown = [name for name in named if name not in KINDS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(KINDS)}")
    return named


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--in", "kinds", metavar="KINDS", callback=_kinds, help="Only in these, as user,assistant,tool-output.")
@click.option("--source", help="Only sessions of this source.")
@click.option("--session", metavar="PREFIX", help="Only in sessions whose id begins so.")
@click.option("--since", metavar="DATE", help="Only rounds from this day on (YYYY-MM-DD).")
@click.option("--until", metavar="DATE", help="Only rounds before this day.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="At most so many hits.")
@click.option("--json", is_flag=True, help="One JSON array.")
@click.pass_obj
def command(
    store: str | None,
    query: tuple[str, ...],
    kinds: tuple[str, ...],
    source: str | None,
    session: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    json: bool,
) -> None:
    """Find words in everything that was said and done, best hits first.

    All words must occur in one block; "words in quotes" stand together; begin* is the beginning of a word. Parts of
    camelCase names are found by themselves, paths and snake_case as they stand.
    """
    asked = Query(" ".join(query), kinds, source, session, None, since, until, limit)
    hits = Archive(store).search(asked)
    if json:
        as_json(hits)
        return
    for hit in hits:
        _print(hit)
    if not hits:
        raise NotFound(f"no block has all of: {line(asked.text)}", _try(asked))
    talk(f"{many(len(hits), 'hit')}; open one with `muniment show SESSION ROUND`")


def _try(asked: Query) -> str:
    if asked.kinds or asked.source or asked.session or asked.since or asked.until:
        return "try without the filters, or with fewer words"
    return "try fewer words, or the beginning of one: begin*"


def _print(hit: Hit) -> None:
    when = (hit.started or "")[:16].replace("T", " ")
    where = f"{hit.kind} {hit.tool}" if hit.tool else hit.kind
    head = f"{hit.session_id[:8]} {hit.round}"
    click.echo(f"{click.style(head, bold=True)}  {when}  {click.style(line(where), dim=True)}  {line(hit.title)[:60]}")
    click.echo(f"    {_highlighted(hit)}")


def _highlighted(hit: Hit) -> str:
    out, at = "", 0
    for start, end in hit.marks:
        out += plain(hit.snippet[at:start]) + click.style(plain(hit.snippet[start:end]), fg="yellow", bold=True)
        at = end
    return out + plain(hit.snippet[at:])
