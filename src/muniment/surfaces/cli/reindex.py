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

    Needed only after damage or an update that says so. Summaries that people wrote are kept. Evidence that is damaged
    is taken from its source where that still has it; a session that cannot be mended stays, with what is intact of it.
    """
    outcomes: list[Outcome] = []
    count = Archive(store).reindex(outcomes.append)
    out(f"{many(count, 'session')} rebuilt")
    for outcome in outcomes:
        if outcome.what in progress.BAD:
            out(f"  {outcome.what}: {outcome.session_id}: {outcome.path}: {outcome.note}")
        elif outcome.what == "healed":
            out(f"  healed: {outcome.session_id}: {outcome.note}")
    progress.fail_if_any(outcomes)
