"""`muniment continue`"""

from __future__ import annotations

from pathlib import Path

import click

from muniment.archive import Archive
from muniment.errors import NotFound
from muniment.export import Request
from muniment.store.session_table import Listed
from muniment.surfaces.cli import exporting


@click.command()
@click.argument("session")
@click.option(
    "--in", "agent", required=True, metavar="AGENT", help="The agent to go on in: codex, claude, pi, opencode, …"
)
@click.option("--rounds", metavar="A-B", help="Only these rounds.")
@click.option("--engagement", metavar="ID", help="Only the rounds of this engagement.")
@click.option(
    "--cwd", metavar="DIR", help="Go on in a project in DIR; by default where it was, or here if it names no folder."
)
@click.option("--json", is_flag=True, help="The report as JSON.")
@click.pass_obj
def command(
    store: str | None,
    session: str,
    agent: str,
    rounds: str | None,
    engagement: str | None,
    cwd: str | None,
    json: bool,
) -> None:
    """Go on with SESSION in another agent: write it where that agent looks, as a new session; tell how to resume it.

    The archive notes which session it continues. Nothing else is changed, nothing is overwritten, and no permission is
    carried. Tool calls stay tool calls; what the agent cannot hold is counted and explained, and stays in the archive.
    """
    if rounds and engagement:
        raise click.UsageError("Give --rounds or --engagement, not both.")
    archive = Archive(store)
    found = archive.session(session)
    first, last = _of(archive, found, engagement) if engagement else exporting.parse_rounds(rounds)
    request = Request(source=agent, cwd=_folder(found, cwd), new_id=True, first=first, last=last)
    exporting.report(archive.export(found.session_id, request), json)


def _folder(session: Listed, cwd: str | None) -> str | None:
    """The folder that is asked for; this one for a session that names none, as agents show sessions by folder."""
    if not cwd and not session.cwd:
        click.echo("the session names no folder: it goes on in this one (--cwd chooses another)", err=True)
    return str(Path(cwd or ".").expanduser().resolve()) if cwd or not session.cwd else None


def _of(archive: Archive, session: Listed, engagement: str) -> tuple[int, int]:
    """The rounds of an engagement, from its first to its last."""
    for record in archive.engagements():
        for one in record.engagements:
            if record.session_id == session.session_id and one.engagement_id == engagement:
                return one.turn_range
    (short,) = archive.short_ids([session.session_id]).values()
    raise NotFound(f"no engagement {engagement!r} in this session", f"`muniment search --session {short}`")
