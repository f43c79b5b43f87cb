"""`muniment ingest`"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any

import click

from muniment.archive import Archive
from muniment.ingest import offline
from muniment.ingest.models import Estimate, Ledger
from muniment.ingest.pipeline import Extract, Outcome, Sized
from muniment.ingest.planning import Choice, Plan
from muniment.surfaces.cli import asking
from muniment.surfaces.cli.bar import bar
from muniment.surfaces.cli.output import as_json, many, out, plain, size, table, talk
from muniment.surfaces.cli.progress import waiting
from muniment.surfaces.cli.saying import dated

MAX_SHOWN = 10


@click.command()
@click.option("--session", "names", metavar="SESSION", multiple=True, help="Only this session; may be repeated.")
@dated("--since", "Only sessions that went on since this day.")
@click.option("--skip-existing", is_flag=True, help="Leave out what was ingested and has not grown since.")
@click.option("--strict-ghosts", is_flag=True, help="Fewer than three prompts make a ghost, whatever was done.")
@asking.options
@click.option("--dry-run", is_flag=True, help="Tell ghosts, sizes of skeletons and the cost; change nothing.")
@click.option("--json", is_flag=True, help="One JSON array of outcomes; with --dry-run one object.")
@click.pass_obj
def command(
    store: str | None,
    names: tuple[str, ...],
    since: date | None,
    skip_existing: bool,
    strict_ghosts: bool,
    extractor: str,
    dry_run: bool,
    json: bool,
    **said: Any,
) -> None:
    """Understand sessions as engagements: what was worked on, how, with what outcome, and by whom.

    Offline this needs no key and no network. A model does better, at a price that is told first: keys come from
    ANTHROPIC_API_KEY, OPENAI_API_KEY or ~/.secrets; no answer is paid for twice. Results are in engagements.jsonl and
    engagements-index.md of the archive, and `muniment search` finds them. Only what was inscribed is ingested:
    `muniment up` does both.
    """
    archive = Archive(store)
    archive.require()
    asked = asking.settings(archive, extractor, **said)
    ids = tuple(archive.session(name).session_id for name in names)
    choice = Choice(ids, since.isoformat() if since else None, skip_existing, strict_ghosts)
    plan = archive.ingest_plan(choice, asked.name if asked else offline.NAME)
    expected = asking.estimate(archive, plan, choice, asked) if asked else None
    if dry_run:
        price = asking.told(expected, asked) if asked and expected else ""
        _tell(archive, plan, choice, expected, price, json)
        return
    ledger = Ledger()
    if asked and expected:
        asking.confirmed(expected, asked)
    outcomes = run(archive, plan, choice, asking.extractor(archive, plan, asked, ledger) if asked else None)
    if json:
        as_json(outcomes)
    else:
        report(archive, outcomes, plan.unchanged)
    if asked:
        talk(asking.spent(ledger))
    if any(outcome.what == "failed" for outcome in outcomes):
        raise click.exceptions.Exit(1)


def run(archive: Archive, plan: Plan, choice: Choice, extract: Extract | None = None) -> list[Outcome]:
    """Carry out what is planned, with a bar."""
    outcomes: list[Outcome] = []
    with bar("ingesting", len(plan.jobs)) as advance:

        def done(outcome: Outcome) -> None:
            outcomes.append(outcome)
            advance()

        archive.run_ingest(plan, choice, done, waiting, extract)
    return outcomes


def report(archive: Archive, outcomes: Sequence[Outcome], unchanged: int) -> None:
    """What came of it, in one or two lines, and then what went wrong."""
    counts = Counter(outcome.what for outcome in outcomes)
    found = sum(outcome.engagements for outcome in outcomes)
    parts = [f"{many(found, 'engagement')} in {many(counts['extracted'], 'session')}"]
    parts += [many(counts["ghost"], "ghost")] if counts["ghost"] else []
    parts += [f"{unchanged:,} unchanged"] if unchanged else []
    out(" · ".join(parts))
    odd = [o for o in outcomes if o.note]
    ids = archive.short_ids(o.session_id for o in odd[:MAX_SHOWN])
    for outcome in odd[:MAX_SHOWN]:
        talk(f"{ids[outcome.session_id]} {outcome.what}: {plain(outcome.note)}")
    if len(odd) > MAX_SHOWN:
        talk(f"… and {len(odd) - MAX_SHOWN} more (--json lists all)")


def _tell(archive: Archive, plan: Plan, choice: Choice, expected: Estimate | None, price: str, json: bool) -> None:
    """What there is to do, session by session, and in all."""
    sizes: list[Sized] = []
    with bar("reading", len(plan.jobs)) as advance:
        for one in archive.ingest_sizes(plan, choice):
            sizes.append(one)
            advance()
    read = [one for one in sizes if not one.ghost]
    chars = sum(one.skeleton_chars for one in read)
    if json:
        told = {"sessions": sizes, "skeleton_chars": chars, "unchanged": plan.unchanged, "estimate": expected}
        as_json(told)
        return
    ids = archive.short_ids(one.session_id for one in sizes)
    headers = ("session", "rounds", "skeleton", "", "title")
    cells = [(ids[o.session_id], str(o.rounds), f"{o.skeleton_chars:,}", _kind(o), o.note or o.title) for o in sizes]
    table(headers, cells, right=(1, 2))
    total = sum(job.bytes for job in plan.jobs)
    out(f"{many(len(plan.jobs), 'session')} to read, {size(total)} of transcripts; {plan.unchanged:,} unchanged")
    ghosts = f"; {many(len(sizes) - len(read), 'ghost')} not extracted" if len(read) < len(sizes) else ""
    out(f"{many(len(read), 'skeleton')} of {chars:,} characters{ghosts}")
    if price:
        out(price)


def _kind(one: Sized) -> str:
    return "ghost" if one.ghost else "damaged" if one.note else ""
