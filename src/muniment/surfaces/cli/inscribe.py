"""`muniment inscribe`"""

from __future__ import annotations

from pathlib import Path

import click

from muniment.archive import Archive
from muniment.surfaces.cli import progress


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", is_flag=True, help="One JSON array of outcomes.")
@click.pass_obj
def command(store: str | None, paths: tuple[Path, ...], json: bool) -> None:
    """Put sessions into the archive.

    PATHS are session files or folders; without any, every place where a known agent keeps its sessions is
    searched. What is in the archive already is not read again; a session that grew is appended to. A damaged
    session does not stop the others. Interrupt at any moment and run again.
    """
    progress.fail_if_any(progress.inscribe(Archive(store), paths, json))
