"""`muniment append`"""

from __future__ import annotations

from pathlib import Path

import click

from muniment.archive import Archive
from muniment.surfaces.cli import progress


@click.command()
@click.argument("session", required=False)
@click.option("--json", is_flag=True, help="One JSON array of outcomes.")
@click.pass_obj
def command(store: str | None, session: str | None, json: bool) -> None:
    """Add what is new in a session since it was last inscribed; without SESSION, in all that are known.

    Reads only the bytes that were added. Running it twice is running it once.
    """
    archive = Archive(store)
    known = [archive.session(session)] if session else archive.sessions()
    paths = [Path(row.path) for row in known if Path(row.path).exists()]
    outcomes = progress.inscribe(archive, paths, json) if paths else []
    progress.fail_if_any(outcomes)
    gone = len(known) - len(paths)
    if gone:
        progress.talk(f"{progress.many(gone, 'session')} without a source file any more; the archive keeps them")
