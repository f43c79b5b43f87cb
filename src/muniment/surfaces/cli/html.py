"""`muniment html`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from muniment.archive import Archive
from muniment.render import html, known, site
from muniment.render.html import Request, Written
from muniment.surfaces.cli.exporting import parse_rounds
from muniment.surfaces.cli.output import as_json, many, out, size, talk


@click.command()
@click.argument("session", required=False)
@click.option("--all", "every", is_flag=True, help="Every session, as a site: an index and a page for each.")
@click.option("-o", "--output", metavar="FILE", help="Where to; `-` is standard output. [a name of date and slug]")
@click.option("--title", help="In place of the session's own.")
@click.option("--rounds", metavar="A-B", help="Only these rounds.")
@click.option("--engagement", metavar="ID", help="Only the rounds of this engagement.")
@click.option("--full", is_flag=True, help="Everything, however long; by default long outputs are clipped.")
@click.option("--no-redact", is_flag=True, help="Leave secrets in; by default they are taken out.")
@click.option("--force", is_flag=True, help="Replace a file that is no page of ours.")
@click.option("--json", is_flag=True, help="The report as JSON.")
@click.pass_obj
def command(store: str | None, session: str | None, every: bool, output: str | None, json: bool, **given: Any) -> None:
    """Write SESSION as one HTML page that needs nothing else: no network, no other file.

    SESSION may also be the file of a transcript, inscribed or not: it is read as it stands, and nothing is inscribed.
    Secrets are redacted. With --all, a site is written into the folder given by -o; pages whose session has not changed
    are left as they are.
    """
    if every == bool(session):
        raise click.UsageError("Give a SESSION or --all, not both." if every else "Give a SESSION, or --all.")
    if json and output == "-":
        raise click.UsageError("--json and `-o -` both go to standard output; write the page to a file: -o FILE.")
    archive, request = Archive(store), _request(**given)
    if session:
        done = _one(archive, session, output, request)
        if json:
            as_json(done)
        elif done.path != "-":
            _report(done)
    else:
        archive.require()
        made = site.write(archive.layout, _folder(output, request), request, lambda _: None)
        if json:
            as_json(made)
        else:
            out(made.path)
            talk(f"{many(made.pages, 'page')}, {made.written:,} written{_secrets(made.redacted)}")


def _request(rounds: str | None, no_redact: bool, **given: Any) -> Request:
    first, last = parse_rounds(rounds)
    return Request(first=first, last=last, redact=not no_redact, **given)


def _folder(output: str | None, request: Request) -> Path:
    if output in (None, "-"):
        raise click.UsageError("--all needs a folder: -o DIR.")
    if not request.whole:
        raise click.UsageError("--rounds and --engagement choose from one session.")
    return Path(output)


def _one(archive: Archive, name: str, output: str | None, request: Request) -> Written:
    with archive.reading(name) as (holder, listed):
        session = known.find(holder.layout, listed)
        if output == "-":
            return html.write_to(session, sys.stdout.buffer, request)
        return html.write(session, Path(output or html.default_name(session)), request)


def _report(done: Written) -> None:
    out(done.path)
    talk(f"{many(done.rounds, 'round')}, {size(done.bytes)}{_secrets(done.redacted)}")


def _secrets(count: int | None) -> str:
    return ", secrets not redacted" if count is None else f", {many(count, 'secret')} redacted" if count else ""
