"""`muniment export-claude`"""

from __future__ import annotations

from typing import Any

import click

from muniment.surfaces.cli import exporting


@click.command("export-claude")
@exporting.options("--to", "--into")
@click.pass_obj
def command(store: str | None, **given: Any) -> None:
    """Write SESSION as a JSONL file that `claude --resume` takes, below ~/.claude/projects.

    Regenerated from document and rounds with ids, signatures and usage; --from-document uses the markdown alone.
    What Claude Code has no place for is included with a warning, as a note that the model does not get. For the very
    bytes of the original use `muniment restore`.
    """
    exporting.run(store, "claude-code", **given)
