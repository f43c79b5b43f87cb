"""`muniment reindex`"""

from __future__ import annotations

import click

from muniment.archive import Archive
from muniment.inscribe import Outcome
from muniment.surfaces.cli import progress
from muniment.surfaces.cli.output import many, out


@click.command()
@click.pass_obj
def command(store: str | None) -> None:
    """Build documents, rounds and every index anew from the evidence.

    Needed only after damage or an update that says so. Summaries that people wrote are kept.
    """
    outcomes: list[Outcome] = []
    count = Archive(store).reindex(outcomes.append)
    out(f"{many(count, 'session')} rebuilt")
    for outcome in outcomes:
        if outcome.what == "failed":
            out(f"  failed: {outcome.path}: {outcome.note}")
    progress.fail_if_any(outcomes)
