"""`muniment service`"""

from __future__ import annotations

import click

from muniment.service import Installed, Service
from muniment.surfaces.cli.output import as_json, out


@click.group()
def command() -> None:
    """Keep the archive current in the background: `muniment watch` as a service, from login on.

    A systemd user unit on Linux, a launchd agent on macOS. The service runs this very installation, with the store
    that `--store` or MUNIMENT_STORE names.
    """


@command.command()
@click.pass_obj
def install(store: str | None) -> None:
    """Write the service's file and start it. The exit code is 1 if it could not be started."""
    done = Service(store).install()
    out(f"{'written' if done.changed else 'there already'}: {done.path}")
    if done.to_type:
        out("where there are no services, start `muniment watch` yourself, or `muniment watch --once` by a timer")
    _finish(done, "started; it starts again at every login")


@command.command()
@click.option("--json", is_flag=True, help="The status as JSON.")
@click.pass_obj
def status(store: str | None, json: bool) -> None:
    """Tell whether it is installed and running, and what it said last. The exit code is 1 if it is not running."""
    found = Service(store).status()
    if json:
        as_json(found)
    else:
        old = "" if found.current or not found.installed else "; `muniment service install` would write another one"
        out(f"{'installed' if found.installed else 'not installed'}: {found.path}{old}")
        out("running" if found.running else f"not running{f' ({found.note})' if found.note else ''}")
        for said in found.lines:
            out(f"  {said}")
    if not found.running:
        raise click.exceptions.Exit(1)


@command.command()
@click.pass_obj
def uninstall(store: str | None) -> None:
    """Stop the service and remove its file; the archive stays as it is."""
    done = Service(store).uninstall()
    out(f"{'removed' if done.changed else 'not installed'}: {done.path}")
    _finish(done, "")


def _finish(done: Installed, success: str) -> None:
    """What is left to be done, if anything."""
    if not done.to_type:
        for words in (success, done.advice):
            if words:
                out(words)
        return
    out(f"the system could not be told ({done.note}); from a session where it can, type:")
    for words in done.to_type:
        out(f"  {words}")
    raise click.exceptions.Exit(1)
