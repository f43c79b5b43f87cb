"""`muniment up`"""

from __future__ import annotations

from pathlib import Path

import click

from muniment import demo as samples
from muniment.archive import Archive
from muniment.ingest.planning import Choice
from muniment.surfaces.cli import doctor, ingest, progress
from muniment.surfaces.cli.output import out, talk

INCREMENTAL = Choice(skip_existing=True)


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--demo", is_flag=True, help="Use small sample sessions, in a store of their own.")
@click.option("--view", is_flag=True, help="Then open the page, as `muniment view` does.")
@click.option("--json", is_flag=True, help="One JSON array of outcomes.")
@click.pass_context
def command(ctx: click.Context, paths: tuple[Path, ...], demo: bool, view: bool, json: bool) -> None:
    """Find every session on this machine, inscribe it, and report what was found, what is at risk, where it lives.

    What is new is ingested too, without a model, so that `muniment search` finds it by what it was about. PATHS narrow
    the search to files or folders. Run it as often as you like: only what is new is read.
    """
    archive = Archive(samples.store(ctx.obj)) if demo else Archive(ctx.obj)
    places = (samples.sessions(archive.layout.root),) if demo else paths
    outcomes = progress.inscribe(archive, places, json)
    understood = ingest.run(archive, plan := archive.ingest_plan(INCREMENTAL), INCREMENTAL)
    if understood and not json:
        ingest.report(archive, understood, plan.unchanged)
    if not json and not archive.sessions():
        talk("no sessions of a known agent on this machine; `muniment up --demo` shows how it looks with samples")
    if not (json or demo or paths):
        out()
        doctor.report(archive.doctor())
    if view:
        _show(ctx, archive, demo)
    elif not json and archive.sessions():
        talk(f"`muniment {'up --demo --view' if demo else 'view'}` shows it as a page")
    progress.fail_if_any(outcomes)


def _show(ctx: click.Context, archive: Archive, demo: bool) -> None:
    from muniment.surfaces.cli import view

    ctx.obj = str(archive.layout.root)
    ctx.invoke(view.command, no_watch=demo)
