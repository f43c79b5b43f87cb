"""`muniment search`"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import click
from msgspec import structs

from muniment import config
from muniment.errors import NotFound
from muniment.model.engagements import METHODS, PHASES
from muniment.search import KINDS, Findings, Query, count, find, searched
from muniment.search.query import chosen
from muniment.store import terms
from muniment.store.index import Index
from muniment.store.layout import Layout
from muniment.surfaces.cli.output import as_json, line, many, talk
from muniment.surfaces.cli.saying import dated


def _kinds(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    named = tuple(name.strip() for name in value.split(",")) if value else ()
    unknown = [name for name in named if name not in KINDS]
    if unknown:
        raise click.BadParameter(f"{line(unknown[0])!r} is none of {', '.join(KINDS)}")
    return named


def _any_of(*names: str, **options: Any) -> Any:
    """A filter that may be given several times."""
    return click.option(*names, multiple=True, **options)


@click.command()
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@_any_of("-m", "--method", type=click.Choice(METHODS), metavar="METHOD", help=f"One of {', '.join(METHODS)}.")
@_any_of("-p", "--project", metavar="TEXT", help="Part of the project's path or name.")
@_any_of("-a", "--agent", metavar="TEXT", help="Part of the agent's name, role, slug or bucket.")
@_any_of("--phase", type=click.Choice(PHASES), metavar="PHASE", help=f"One of {', '.join(PHASES)}.")
@click.option("--open", "left_open", is_flag=True, help="Only what was not finished, or named what comes next.")
@dated("--date", "Only what happened on this day (YYYY-MM-DD).", "-d")
@click.option("--today", is_flag=True, help="Only what happened today.")
@click.option("-w", "--week", is_flag=True, help="Only what happened since Monday.")
@dated("--since", "Only from this day on.")
@dated("--until", "Only before this day.")
@_any_of("--source", help="Only sessions of this source.")
@_any_of("--model", help="Only sessions whose latest answer is of this model.")
@click.option("--session", metavar="PREFIX", help="Only in sessions whose id begins so.")
@click.option(
    "--file", metavar="PATH", help="Only sessions that touched it: a path, its end, or a name; a folder ends in /."
)
@click.option("--in", "kinds", metavar="KINDS", callback=_kinds, help=f"Only text, of these kinds: {','.join(KINDS)}.")
@click.option("--ghosts", is_flag=True, help="List sessions that never reached substantive work too.")
@click.option("-s", "--stats", is_flag=True, help="Count engagements by method, project, agent, phase and day instead.")
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="Of each.")
@click.option("--json", is_flag=True, help="One JSON object: engagements, files, hits; with --stats the counts.")
@click.pass_obj
def command(store: str | None, words: tuple[str, ...], stats: bool, json: bool, **options: Any) -> None:
    """Find engagements, and words in everything that was said and done.

    Without a QUERY: the engagements that pass the filters, the latest first. With one: first the engagements that have
    its words in topic, project, method, phase, outcome, decisions, summary, agent or slug; then the blocks of text
    that have them, best first, with the round to open. All filters can be combined; of -m, -p, -a, --phase, --source
    and --model, each may be given several times, and any of its values holds. Days are local.

    All words must occur; "words in quotes" stand together; begin* is the beginning of a word. Case and accents do not
    count. Parts of camelCase names are found by themselves, paths and snake_case as they stand. Chinese, Japanese and
    Korean signs are found wherever they stand.
    """
    asked = _query(" ".join(words), options)
    if not (asked.text or asked.filters or asked.ghosts or stats):
        raise click.UsageError("Say what to look for: words, or a filter such as --today or --method build.")
    layout = Layout(config.store_root(store, os.environ))
    if terms.is_cut(asked.text):
        talk(f"a long query: only its beginning is looked for, at most {terms.MAX_TERMS} words")
    if stats:
        from muniment.surfaces.cli.found import print_counts

        counts = count(layout, asked)
        as_json(counts) if json else print_counts(counts)
        if not searched(layout).ingested:
            talk("nothing was ingested yet: `muniment ingest` finds the engagements")
        return
    if json:
        as_json(find(layout, asked))
        return
    one_more = structs.replace(asked, limit=asked.limit + 1)  # which tells whether there are more than are shown
    _show(layout, asked, find(layout, one_more))


def _query(text: str, options: dict[str, Any]) -> Query:
    since, until = _window(**{name: options.pop(name) for name in ("date", "today", "week", "since", "until")})
    return Query(text=text.strip(), since=since, until=until, **options)


def _window(
    date: date | None, today: bool, week: bool, since: date | None, until: date | None
) -> tuple[str | None, str | None]:
    """From which day on, and before which: all that was said holds."""
    now = datetime.now(UTC).astimezone().date()
    first, last = [since] if since else [], [until] if until else []
    for day in (date, now if today else None):
        if day is not None:
            first.append(day)
            last += [day + timedelta(1)] if day < day.max else []
    if week:
        first.append(now - timedelta(now.weekday()))
    return (max(first).isoformat() if first else None), (min(last).isoformat() if last else None)


def _show(layout: Layout, asked: Query, every: Findings) -> None:
    from muniment.surfaces.cli.found import print_findings

    if not every:
        _require_sources(chosen(asked.source))
        raise NotFound(_nothing(asked), _try(layout, asked))
    limit = asked.limit
    found = Findings(every.engagements[:limit], every.files[:limit], every.hits[:limit])
    print_findings(found, bool(asked.text), _short_ids(layout, found))
    parts = ((found.engagements, "engagement"), (found.files, "session"), (found.hits, "hit"))
    counted = ", ".join(many(len(part), noun) for part, noun in parts if part)
    talk(f"{counted}; open one with `muniment show SESSION ROUND`")
    if every != found:
        talk(f"there are more {_longer(every, limit)}; a higher --limit shows them")


def _longer(found: Findings, limit: int) -> str:
    parts = ((found.engagements, "engagements"), (found.files, "sessions"), (found.hits, "hits"))
    return " and ".join(noun for part, noun in parts if len(part) > limit)


def _short_ids(layout: Layout, found: Findings) -> dict[str, str]:
    with Index(layout) as index:
        return index.short_ids(one.session_id for one in (*found.engagements, *found.files, *found.hits))


# -- nothing


def _require_sources(names: Iterable[str]) -> None:
    """Raise if one of these is no source, which tells the names there are."""
    from muniment import sources

    for name in names:
        sources.named(name)


def _nothing(asked: Query) -> str:
    what = "no block" if asked.kinds else "no engagement and no block" if asked.text else "no engagement"
    words = f" has all of: {line(asked.text)[:200]}" if asked.text else " passes the filters"
    return f"{what}{words}"


def _try(layout: Layout, asked: Query) -> str:
    there = searched(layout)
    counted = ", ".join(
        [many(there.sessions, "session"), many(there.blocks, "block"), many(there.engagements, "engagement")]
    )
    filters = " ".join(f"--{name} {line(value)}".rstrip() for name, value in asked.filters)
    said = f"searched {counted}{f' with {filters}' if filters else ''}"
    return f"{said}; {_advice(asked, there.sessions, there.ingested)}"


def _advice(asked: Query, sessions: int, ingested: int) -> str:
    if not sessions:
        return "`muniment up` fills the archive"
    advice: list[str] = []
    if asked.filters:
        advice.append("without some of the filters")
    if asked.text:
        advice.append("fewer words, or the beginning of one: begin*")
    if not ingested and not asked.kinds:
        advice.append("`muniment ingest`, which finds the engagements: nothing was ingested yet")
    return f"try {'; or '.join(advice)}"
