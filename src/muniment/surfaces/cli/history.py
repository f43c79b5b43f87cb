"""`muniment history`"""

from __future__ import annotations

import os

import click

from muniment import config
from muniment.record.channels import read_history
from muniment.record.history import History
from muniment.surfaces.cli.output import line, out_json, table, talk


@click.command()
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@click.option("--oldest", is_flag=True, help="The oldest first.")
@click.option("--json", is_flag=True, help="One JSON array.")
def command(limit: int, oldest: bool, json: bool) -> None:
    """The prompts of all recorded sessions on this machine, the newest first.

    HISTORY_RETAIN_DAYS in the environment hides what is older.
    """
    found = read_history(limit, reverse=not oldest)
    if json:
        import json as encoder

        out_json(encoder.dumps(found).encode())
        return
    if not found:
        talk("no prompt was recorded on this machine")
        return
    cells = [(row["session_id"][:8], row["ts"][:16].replace("T", " "), line(row["prompt"])) for row in found]
    table(("session", "time", "prompt"), cells)
    if warning := History(config.recorder_home(os.environ) / "history.jsonl").warning:
        talk(warning)
