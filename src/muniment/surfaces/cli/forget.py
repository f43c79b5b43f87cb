"""`muniment forget`"""

from __future__ import annotations

import click

from muniment.archive import Archive
from muniment.errors import MunimentError
from muniment.surfaces.cli.output import line, many, out, size


@click.command()
@click.argument("session")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def command(store: str | None, session: str, yes: bool) -> None:
    """Delete SESSION from the archive: evidence, documents, rounds, versions and index entries.

    This is the only deletion there is, and it cannot be undone. The agent's own files are not touched; a later
    `up` inscribes them again if they are still there.
    """
    archive = Archive(store)
    found = archive.session(session)
    if not yes:
        extent = f"{many(found.rounds, 'round')}, {size(found.source_bytes)}"
        what = f"{found.session_id}  {line(found.title)[:60]}  ({extent})"
        if not click.confirm(f"Forget {what}?", err=True):
            raise MunimentError("not forgotten")
    archive.forget(found.session_id)
    out(f"forgotten: {found.session_id}")
