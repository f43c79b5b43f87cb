"""`muniment watch`"""

from __future__ import annotations

from datetime import datetime

import click
from msgspec import structs

from muniment.archive import Archive
from muniment.surfaces.cli.output import as_json, line, many, talk
from muniment.watching import Event, Pace, Stop, Watch
from muniment.watching.work import MANY

MINUTE = 60.0


@click.command()
@click.option("--once", is_flag=True, help="Look at everything once, then end: for cron and hooks.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0, min_open=True),
    default=Pace().rescan / MINUTE,
    show_default=True,
    metavar="MINUTES",
    help="Between looks at every session, whatever the system says has changed.",
)
@click.option("--no-ingest", is_flag=True, help="Only inscribe; do not understand sessions as engagements.")
@click.option("--json", is_flag=True, help="One JSON object per event, on standard output.")
@click.option("--quiet", "-q", is_flag=True, help="Tell only what goes wrong.")
@click.pass_obj
def command(store: str | None, once: bool, interval: float, no_ingest: bool, json: bool, quiet: bool) -> None:
    """Keep the archive current: what an agent writes is found a second later.

    Sessions are inscribed as they grow, and ingested when they pause. Runs until it is interrupted; then what is
    finished is kept, and the next watch goes on from there. A second watch of the same store waits for the first
    to end.
    """

    def tell(event: Event) -> None:
        if json:
            as_json(event)
        elif event.event in ("failed", "trouble") or not (quiet or _is_one_of_many(event)):
            talk(_told(event))

    stop = Stop()
    watch = Watch(Archive(store), tell, structs.replace(Pace(), rescan=interval * MINUTE), not no_ingest, stop)
    if once:
        whole = watch.once()
        raise click.exceptions.Exit(0 if whole else 1)
    with stop.listening():
        watch.run()


def _is_one_of_many(event: Event) -> bool:
    """They are told of together."""
    return event.together > MANY


def _told(event: Event) -> str:
    clock = datetime.fromisoformat(event.at).astimezone().strftime("%H:%M:%S")
    return "  ".join(part for part in (clock, event.session_id[:8], line(_words(event))) if part)


def _words(event: Event) -> str:
    match event.event:
        case "inscribed":
            said = f"{event.what}, {many(event.rounds, 'round')}"
        case "ingested":
            found = "a ghost" if event.what == "ghost" else many(event.engagements, "engagement")
            said = f"ingested, {found}"
        case _:
            said = f"{event.event} {event.path}".strip()
    return f"{said}: {event.note}" if event.note else said
