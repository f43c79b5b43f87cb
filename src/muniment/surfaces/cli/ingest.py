"""`muniment ingest`"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from muniment.archive import Archive
from muniment.ingest import offline
from muniment.ingest.models import Estimate, Ledger
from muniment.ingest.pipeline import Extract, Outcome
from muniment.ingest.planning import Choice, Plan
from muniment.surfaces.cli import asking
from muniment.surfaces.cli.bar import bar
from muniment.surfaces.cli.output import as_json, many, out, plain, size, talk
from muniment.surfaces.cli.progress import waiting

MAX_SHOWN = 10


@click.command()
@click.option("--session", "names", metavar="SESSION", multiple=True, help="Only this session; may be repeated.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Only sessions that went on since this day.")
@click.option("--skip-existing", is_flag=True, help="Leave out what was ingested and has not grown since.")
@click.option("--strict-ghosts", is_flag=True, help="Fewer than three prompts make a ghost, whatever was done.")
@asking.options
@click.option("--dry-run", is_flag=True, help="Tell what would be read and what it would cost; change nothing.")
@click.option("--json", is_flag=True, help="One JSON array of outcomes.")
@click.pass_obj
def command(
    store: str | None,
    names: tuple[str, ...],
    since: datetime | None,
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
    engagements-index.md of the archive, and `muniment search` finds them.
    """
    archive = Archive(store)
    archive.require()
    asked = asking.settings(archive, extractor, **said)
    ids = tuple(archive.session(name).session_id for name in names)
    choice = Choice(ids, f"{since:%Y-%m-%d}" if since else None, skip_existing, strict_ghosts)
    plan = archive.ingest_plan(choice, asked.name if asked else offline.NAME)
    expected = asking.estimate(archive, plan, choice, asked) if asked else None
    if dry_run:
        _tell(plan, asked and expected and asking.told(expected, asked), expected, json)
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


def _tell(plan: Plan, price: str | None, expected: Estimate | None, json: bool) -> None:
    if json:
        jobs = [{"session_id": job.session_id, "rounds": job.facts.rounds, "bytes": job.bytes} for job in plan.jobs]
        as_json({"sessions": jobs, "unchanged": plan.unchanged, "estimate": expected})
        return
    total = sum(job.bytes for job in plan.jobs)
    out(f"{many(len(plan.jobs), 'session')} to read, {size(total)} of transcripts; {plan.unchanged:,} unchanged")
    if price:
        out(price)
