"""`muniment fork`"""

from __future__ import annotations

import click

from muniment.record.forking import fork
from muniment.record.recorder import FORKED_MESSAGES
from muniment.surfaces.cli.output import as_json, many, out, talk
from muniment.surfaces.cli.recording import where


@click.command()
@click.argument("session", default="last")
@where
@click.option("--last", type=click.IntRange(1), default=FORKED_MESSAGES, show_default=True, help="Messages to copy.")
@click.option("--summary", default="", help="What went before, in a few words.")
@click.option("--json", is_flag=True, help="The new session as JSON.")
def command(session: str, root: str | None, format_: str, last: int, summary: str, json: bool) -> None:
    """Begin a new session with the last messages of a recorded SESSION; a call and its result stay together.

    The parent is not touched, and may go on at the same time.
    """
    child = fork(session, root, format_, last, summary)
    if json:
        as_json({"session_id": child.session_id, "path": str(child.path), "messages": len(child.chain)})
        return
    out(str(child.path))
    talk(f"{many(len(child.chain), 'message')} taken along")
