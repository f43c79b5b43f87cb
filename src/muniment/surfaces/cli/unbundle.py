"""`muniment unbundle`"""

from __future__ import annotations

from pathlib import Path

import click

from muniment.archive import Archive
from muniment.surfaces.cli.output import as_json, many, out, talk


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Verify it, and put nothing into the archive.")
@click.option("--json", is_flag=True, help="One JSON array of sessions.")
@click.pass_obj
def command(store: str | None, file: Path, dry_run: bool, json: bool) -> None:
    """Take the sessions of a bundle into the archive, once all of it is verified.

    A session that is here already is added to, or kept as a version beside it; nothing is overwritten. `restore` then
    gives the original files back, unless the bundle was made without secrets.
    """
    placed = Archive(store).unbundle(file, dry_run)
    if json:
        as_json(placed)
        return
    for one in placed:
        out(f"{one.what:9}  {one.session_id}")
    talk(f"{many(len(placed), 'session')}")
