"""`muniment tag`"""

from __future__ import annotations

import click

from muniment.archive import Archive
from muniment.surfaces.cli.output import many, talk
from muniment.surfaces.cli.saying import forwards


def _rounds(_: click.Context, __: click.Parameter, value: str | None) -> list[int]:
    """`3`, `3-9`, `1,4-6`."""
    chosen: set[int] = set()
    for piece in value.split(",") if value else ():
        first, dash, last = piece.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or int(last or first) - int(first) > 100_000:
            raise click.BadParameter(f"{piece.strip()!r} is no round; say 3, 3-9 or 1,4-6")
        forwards(piece.strip(), int(first), int(last or first))
        chosen.update(range(int(first), int(last or first) + 1))
    return sorted(chosen)


@click.command()
@click.argument("session")
@click.argument("rounds", required=False, callback=_rounds)
@click.argument("engagement", required=False)
@click.option("--clear", is_flag=True, help="Take the tags of the rounds away; what extraction found holds again.")
@click.option("--tags", metavar="A,B", help="Call the session by these tags and no others; empty takes them away.")
@click.option("--summary", metavar="LINE", help="Write the session's summary; empty gives it back to the machine.")
@click.pass_obj
def command(
    store: str | None,
    session: str,
    rounds: list[int],
    engagement: str | None,
    clear: bool,
    tags: str | None,
    summary: str | None,
) -> None:
    """Say which ENGAGEMENT the ROUNDS of a SESSION belong to: 3, 3-9, or 1,4-6; or what the session is.

    ENGAGEMENT is an id that `muniment search` shows, or a name of your own. The tag stands in the index, in the
    listings and in the frontmatter of the document, and outlives ingestion; round files are not touched.
    """
    archive = Archive(store)
    if tags is not None or summary is not None:
        if rounds or clear:
            raise click.UsageError("ROUNDS go to an ENGAGEMENT; --tags and --summary are of the whole session.")
        _describe(archive, session, tags, summary)
        return
    if not rounds or bool(engagement) == clear:
        raise click.UsageError("Give ROUNDS with an ENGAGEMENT or --clear; or --tags; or --summary.")
    archive.tag(session, rounds, None if clear else engagement)
    talk(f"{many(len(rounds), 'round')} {'cleared' if clear else 'tagged'}")


def _describe(archive: Archive, session: str, tags: str | None, summary: str | None) -> None:
    if tags is not None:
        kept = archive.set_tags(session, tags.split(","))
        talk(f"tagged {', '.join(kept)}" if kept else "without tags")
    if summary is not None:
        talk(f"summary: {archive.summarise(session, summary)}")
