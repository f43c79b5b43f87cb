"""`muniment roster`"""

from __future__ import annotations

import click

from muniment.archive import Archive
from muniment.errors import NotFound
from muniment.surfaces.cli.output import as_json, line, table, talk


@click.group(invoke_without_command=True)
@click.option("--json", is_flag=True, help="One JSON array.")
@click.pass_context
def command(ctx: click.Context, json: bool) -> None:
    """Say who a session was: list, add and remove names and roles of agents.

    The roster is read last: a name given in the session itself comes first. A role names a bucket of the archive; new
    sessions of a registered id go there, others when they are moved.
    """
    if ctx.invoked_subcommand:
        return
    archive = Archive(ctx.obj)
    entries = archive.roster().entries
    if json:
        as_json(entries)
    elif entries:
        cells = [(e.session_id, line(e.agent_name or ""), line(e.role or "")) for e in entries]
        table(("session", "name", "role"), cells)
    else:
        archive.require()
        talk("nobody is registered; `muniment roster add SESSION --name NAME --role ROLE` does it")


@command.command()
@click.argument("session")
@click.option("--name", help="What the agent was called.")
@click.option("--role", help="What it was there for, as historian.")
@click.option("--move", is_flag=True, help="Move the session to the bucket of its role.")
@click.pass_obj
def add(store: str | None, session: str, name: str | None, role: str | None, move: bool) -> None:
    """Register a SESSION of the archive under a name, a role, or both."""
    if not (name or role):
        raise click.UsageError("Give --name, --role, or both.")
    archive = Archive(store)
    if move and not role:
        raise click.UsageError("--move needs a --role.")
    listed = archive.register(session, name, role)
    talk(f"{listed.session_id[:8]} is registered")
    if move:
        talk(f"moved to {archive.move(listed.session_id)}")


@command.command()
@click.argument("session")
@click.pass_obj
def remove(store: str | None, session: str) -> None:
    """Take a SESSION out of the roster; it stays in its bucket."""
    archive = Archive(store)
    if not archive.unregister(session):
        raise NotFound(f"{session!r} is not registered", "`muniment roster` lists who is")
    talk(f"{session[:8]} is no longer registered")


@command.command()
@click.argument("sessions", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every registered session that has a role.")
@click.pass_obj
def move(store: str | None, sessions: tuple[str, ...], every: bool) -> None:
    """Move SESSIONS to the buckets of their registered roles; links and indexes follow."""
    archive = Archive(store)
    if every == bool(sessions):
        raise click.UsageError("Give sessions, or --all.")
    for name in archive.short_ids(archive.movable()).values() if every else sessions:
        talk(f"{name} moved to {archive.move(name)}")
