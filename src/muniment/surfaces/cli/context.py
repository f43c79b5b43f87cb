"""`muniment context`"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from muniment import config
from muniment.context import BUDGET, POLICIES, SPELLERS, Explicit, Request, Selection, Target, build, sessions
from muniment.store.layout import Layout
from muniment.surfaces.cli.output import as_json, many, out, talk, tell_resuming
from muniment.surfaces.cli.saying import forwards

_LAST = 1_000_000_000


@click.command()
@click.argument("names", metavar="[SESSION]...", nargs=-1)
@click.option("-e", "--engagement", metavar="ID", help="Only the rounds of this engagement.")
@click.option("-q", "--query", metavar="WORDS", default="", help="Only rounds that have these words.")
@click.option("--file", metavar="PATH", help="Only rounds that touched this file.")
@click.option("-p", "--project", metavar="TEXT", help="Only this project: part of its path or name.")
@click.option("-a", "--agent", metavar="TEXT", help="Only this agent: part of its name, role, slug or bucket.")
@click.option("--since", metavar="DATE", help="Only from this day on.")
@click.option("--until", metavar="DATE", help="Only before this day.")
@click.option("--rounds", metavar="A-B,…", help="Only these rounds.")
@click.option("--policy", type=click.Choice(POLICIES), help="[successor; specialist where rounds are picked out]")
@click.option("--full", metavar="A-B,…", help="Instead of a policy: these rounds in full.")
@click.option("--ref", metavar="A-B,…|rest", help="With --full: these rounds as lines of the index.")
@click.option("--budget", type=click.IntRange(1, 100_000_000), default=BUDGET, show_default=True, help="In tokens.")
@click.option("--bytes-per-token", type=float, metavar="N", help="Count tokens so, not by kinds of characters.")
@click.option(
    "--as", "form", default="markdown", show_default=True, help=f"{', '.join(SPELLERS)}, or an agent: claude, …"
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to this file.")
@click.option("--into", type=click.Path(path_type=Path), metavar="DIR", help="An agent's session: below DIR.")
@click.option("--cwd", metavar="DIR", help="An agent's session: for a project in DIR.")
@click.option("--force", is_flag=True, help="Replace a file that exists and differs.")
@click.option("--no-redact", is_flag=True, help="Leave secrets in; by default they are taken out.")
@click.option("--json", is_flag=True, help="An agent's session: the report as JSON.")
@click.pass_obj
def command(store: str | None, form: str, json: bool, **given: Any) -> None:
    """What a new agent should know of past sessions, within a budget, every quote with its place.

    Without other words: where the work of SESSION stands, what was decided and done, the last rounds in full, the
    rest as references. What was left out is said. Past text is marked as data, and secrets are redacted.

    --as claude (or another agent that can be written) writes a new session that the agent resumes. The archive is only
    read, and the same selection gives the same bytes.
    """
    layout = Layout(config.store_root(store, os.environ))
    request = _request(given)
    if form in SPELLERS:
        _print(build(layout, request, form).text, given["output"], given["force"])
        return
    cwd = str(Path(given["cwd"]).expanduser().resolve()) if given["cwd"] else None
    made = sessions.write(
        layout, request, Target(form, given["into"], given["output"], cwd, given["force"]), os.environ
    )
    if json:
        as_json(made)
        return
    out(made.path)
    talk(f"{many(len(made.rounds), 'round')} as they were, {made.tokens:,} of {request.budget:,} tokens")
    for loss in made.losses:
        talk(f"  {loss}")
    tell_resuming(made.resume, made.belongs)


def _request(given: dict[str, Any]) -> Request:
    names = ("engagement", "query", "file", "project", "agent", "since", "until")
    selection = Selection(
        sessions=given["names"], rounds=_ranges(given["rounds"], "--rounds"), **{name: given[name] for name in names}
    )
    if selection.empty:
        raise click.UsageError("Say of what: a SESSION (such as `last`), or --engagement, --query, --project, …")
    if given["ref"] and not given["full"]:
        raise click.UsageError("--ref goes with --full.")
    explicit = _explicit(given["full"], given["ref"]) if given["full"] else None
    return Request(
        selection, given["policy"], explicit, given["budget"], given["bytes_per_token"], not given["no_redact"]
    )


def _explicit(full: str, ref: str | None) -> Explicit:
    reference = () if ref is None else None if ref == "rest" else _ranges(ref, "--ref")
    return Explicit(_ranges(full, "--full"), reference)


def _ranges(text: str | None, option: str) -> tuple[tuple[int, int], ...]:
    """`3-9,12`, `3-`, `-9`."""
    found: list[tuple[int, int]] = []
    for part in filter(None, (text or "").split(",")):
        first, dash, last = part.strip().partition("-")
        if not (first + last).isdecimal():
            raise click.BadParameter(f"{part!r} is not a range like 3-9", param_hint=option)
        begin, end = _number(first or "1"), _number(last) if last else _LAST if dash else _number(first)
        forwards(part, begin, end, option)
        found.append((begin, end))
    return tuple(found)


def _number(digits: str) -> int:
    """No session has so many rounds, and no database counts further."""
    return int(digits) if len(digits) < 10 else _LAST


def _print(text: str, path: Path | None, force: bool) -> None:
    """A pack holds nothing that would steer a terminal, wherever it goes."""
    data = text.encode("utf-8", "replace")
    if path:
        sessions.put(path, data, force)
        out(str(path))
    else:
        click.echo(data, nl=False)
