"""`muniment view`"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator

import click

from muniment.archive import Archive
from muniment.surfaces.cli.output import out, talk
from muniment.surfaces.web import opening
from muniment.surfaces.web.server import PORT


@click.command()
@click.argument("session", required=False)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes any that is free."
)
@click.option("--no-open", is_flag=True, help="Only print the address and a code; open no browser.")
@click.option("--no-watch", is_flag=True, help="Show the archive as it is; do not keep it current meanwhile.")
@click.pass_obj
def command(store: str | None, session: str | None, port: int, no_open: bool, no_watch: bool) -> None:
    """See what your agents did: a page on this machine, for you alone.

    Opens a browser that is signed in, if there is one, and serves until it is interrupted. Any other browser asks for
    the code that is printed; it is good once. A browser stays signed in until it signs out or the server ends. If the
    archive is served already, this only prints a new code. With a SESSION that one is opened. Meanwhile sessions are
    inscribed as agents write them.
    """
    archive = Archive(store)
    chosen = archive.session(session).session_id if session else None

    def show(invitation: opening.Invitation, wait: bool = False) -> None:
        out(invitation.address)
        out(f"code: {invitation.code}  (to sign in; good once, for ten minutes)")
        if not no_open and opening.is_likely_seen(os.environ):
            opened = opening.open_browser(archive, invitation)
            if wait:
                opened.join()

    if invitation := opening.ask_running(archive, port, chosen):
        talk("the archive is served already")
        show(invitation, wait=True)
        return
    with _kept_current(archive, no_watch):
        opening.serve(archive, port, chosen, show)
    if sys.stderr.isatty():
        talk("ended")


@contextlib.contextmanager
def _kept_current(archive: Archive, not_: bool) -> Generator[None]:
    if not_:
        yield
        return
    with opening.watching(archive):
        yield
