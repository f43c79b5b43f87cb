"""`muniment forget`"""

from __future__ import annotations

import click

from muniment.archive import Archive
from muniment.errors import MunimentError
from muniment.surfaces.cli.output import line, many, out, size, talk


@click.command()
@click.argument("session")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def command(store: str | None, session: str, yes: bool) -> None:
    """Delete SESSION from the archive: evidence, documents, rounds, versions and index entries.

    This is the only deletion there is, and it cannot be undone; the index is written anew, so that no word is left in
    it. The agent's own files are not touched: while they are there, a later `up` inscribes them again.
    """
    archive = Archive(store)
    found = archive.session(session)
    if not yes:
        extent = f"{many(found.rounds, 'round')}, {size(found.source_bytes)}"
        what = f"{found.session_id}  {line(found.title)[:60]}  ({extent})"
        if not click.confirm(f"Forget {what}?", err=True):
            raise MunimentError("not forgotten")
    left = archive.left_at(found.session_id)
    archive.forget(found.session_id)
    out(f"forgotten: {found.session_id}")
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        talk(f"its source is still there ({left[0]}{more}): the next `up` or `inscribe` takes it in again")
