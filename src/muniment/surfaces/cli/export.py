"""`muniment export`"""

from __future__ import annotations

from typing import Any

import click

from muniment.surfaces.cli import exporting


@click.command()
@exporting.options("--into")
@click.option(
    "--to",
    "source",
    required=True,
    metavar="NAME",
    help="The agent to write for: codex, claude, …; see `muniment sources`.",
)
@click.pass_obj
def command(store: str | None, source: str, **given: Any) -> None:
    """Write SESSION in the format of any agent that can be written, where that agent looks for it.

    Regenerated from the canonical form: tool calls stay tool calls, and what the target cannot hold is counted
    and explained. Permissions are never carried. Nothing is overwritten without --force.
    """
    exporting.run(store, source, **given)
