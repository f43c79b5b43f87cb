"""`muniment tag`"""

from __future__ import annotations

import click

from muniment.archive import Archive
from muniment.surfaces.cli.output import many, talk


def _rounds(_: click.Context, __: click.Parameter, value: str) -> list[int]:
    """`3`, `3-9`, `1,4-6`."""
    chosen: set[int] = set()
    for piece in value.split(","):
        first, dash, last = piece.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or int(last or first) - int(first) > 100_000:
            raise click.BadParameter(f"{piece.strip()!r} is no round; say 3, 3-9 or 1,4-6")
        chosen.update(range(int(first), int(last or first) + 1))
    return sorted(chosen)


@click.command()
@click.argument("session")
@click.argument("rounds", callback=_rounds)
@click.argument("engagement", required=False)
@click.option("--clear", is_flag=True, help="Take the tags away; what extraction found holds again.")
@click.pass_obj
def command(store: str | None, session: str, rounds: list[int], engagement: str | None, clear: bool) -> None:
    """Say which ENGAGEMENT the ROUNDS of a SESSION belong to: 3, 3-9, or 1,4-6.

    ENGAGEMENT is an id that `muniment search` shows, or a name of your own. The tag stands in the index and in the
    session's listing and outlives ingestion; round files are not touched.
    """
    if bool(engagement) == clear:
        raise click.UsageError("Give an ENGAGEMENT, or --clear.")
    Archive(store).tag(session, rounds, None if clear else engagement)
    talk(f"{many(len(rounds), 'round')} {'cleared' if clear else 'tagged'}")
