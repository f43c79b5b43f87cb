"""Inscribing with a progress bar, and the report at its end. Shared by `up`, `inscribe` and `append`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from muniment.archive import Archive
from muniment.batch import Plan
from muniment.errors import NotFound
from muniment.inscribe import Outcome
from muniment.surfaces.cli.bar import bar
from muniment.surfaces.cli.output import as_json, many, out, size, talk

MAX_SHOWN = 10
BAD = ("failed", "damaged")
"""What makes the exit code 1: a session that could not be inscribed, or whose evidence nobody can mend."""
TAKEN_UP = "rebuilt"
"""What became of a session that was in the archive and not in its index."""


def inscribe(archive: Archive, paths: Sequence[Path], json: bool) -> list[Outcome]:
    """Find, inscribe, and tell what came of it. A session that failed makes the exit code 1 at the end."""
    found = archive.find(paths)
    refused = [Outcome("", str(path), "failed", note=why) for path, why in archive.unreadable.items()]
    if not found:
        require_found(archive, paths)
    plan = archive.plan(found)
    outcomes = carry_out(archive, plan) + refused
    archive.take_up(found, outcomes.append, waiting)  # only now: what was found is not read twice
    if json:
        as_json(outcomes)
    else:
        report(outcomes, len(found), plan.unchanged, archive)
    return outcomes


def require_found(archive: Archive, paths: Sequence[Path]) -> None:
    """Paths at which nothing was found are a mistake, unless something there could not be read."""
    if paths and not archive.unreadable:
        raise NotFound(f"no sessions below {', '.join(map(str, paths))}", "`muniment sources` lists the known formats")


def carry_out(archive: Archive, plan: Plan) -> list[Outcome]:
    """Inscribe what is planned."""
    outcomes: list[Outcome] = []
    if plan.tasks or archive.not_rebuilt:
        with bar("inscribing", len(plan.tasks) + len(archive.not_rebuilt)) as advance:

            def done(outcome: Outcome) -> None:
                outcomes.append(outcome)
                advance()

            archive.run(plan, done, waiting)
    return outcomes


def waiting() -> None:
    """Say why nothing happens."""
    talk("another muniment is writing to this store; waiting for it to finish …")


def report(outcomes: Sequence[Outcome], found: int, unchanged: int, archive: Archive) -> None:
    """What was found and what became of it."""
    counts = Counter(outcome.what for outcome in outcomes)
    counts["unchanged"] += unchanged
    taken_up = counts.pop(TAKEN_UP, 0)
    read = sum(outcome.bytes_read for outcome in outcomes)
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    out(f"{many(found, 'session')} found: {', '.join(parts) or 'nothing to do'}; {size(read)} read")
    if taken_up:
        was, now = ("was", "it is") if taken_up == 1 else ("were", "they are")
        out(f"{many(taken_up, 'session')} {was} in the archive and not in its index, as a run was cut off; now {now}")
    _details([o for o in outcomes if o.note and o.what not in BAD], "note")
    for what in BAD:
        _details([o for o in outcomes if o.what == what], what)
    problems = [problem for outcome in outcomes if outcome.what not in BAD for problem in outcome.problems]
    if problems:
        out(f"{many(len(problems), 'damaged place')} in the sources (kept as they are):")
        for problem in problems[:MAX_SHOWN]:
            out(f"  {problem}")
        if len(problems) > MAX_SHOWN:
            out(f"  … and {len(problems) - MAX_SHOWN} more; `muniment doctor` lists the sessions")
    out(f"archive: {archive.layout.sessions}")


def _details(outcomes: Sequence[Outcome], title: str) -> None:
    for outcome in outcomes[:MAX_SHOWN]:
        out(f"  {title}: {outcome.path}: {outcome.note}")
    if len(outcomes) > MAX_SHOWN:
        out(f"  … and {len(outcomes) - MAX_SHOWN} more")


def tell_failed(outcomes: Sequence[Outcome]) -> None:
    """The sessions that failed or are damaged, where nothing else is reported."""
    for outcome in outcomes:
        if outcome.what in BAD:
            talk(f"{outcome.what}: {outcome.path}: {outcome.note}")


def fail_if_any(outcomes: Sequence[Outcome]) -> None:
    if any(outcome.what in BAD for outcome in outcomes):
        raise click.exceptions.Exit(1)
