"""What `export` and `export-claude` share: the options and the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from muniment.archive import Archive
from muniment.export import Exported, Request
from muniment.surfaces.cli.output import as_json, out, talk, tell_resuming
from muniment.surfaces.cli.saying import forwards


def options(*folder_flags: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options of an export; `folder_flags` name the one that takes a folder instead of the agent's home."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in _options(folder_flags):
            command = option(command)
        return command

    return add


def _options(folder_flags: tuple[str, ...]) -> tuple[Callable[..., Any], ...]:
    folder = click.Path(path_type=Path)
    return (
        click.option("--json", is_flag=True, help="The report as JSON."),
        click.option("--force", is_flag=True, help="Replace a file that exists and differs."),
        click.option("--from-document", is_flag=True, help="Use only the markdown: ids are minted."),
        click.option("--rounds", metavar="A-B", help="Only these rounds."),
        click.option("--new-id", is_flag=True, help="A new identity: a fork."),
        click.option("--cwd", metavar="DIR", help="Write it for a project in DIR."),
        click.option("-o", "--output", type=folder, metavar="FILE", help="Write this one file."),
        click.option(*folder_flags, "into", type=folder, metavar="DIR", help="Write below DIR, not to the home."),
        click.argument("session"),
    )


def run(store: str | None, source: str, **given: Any) -> None:
    """Export and report."""
    first, last = parse_rounds(given["rounds"])
    cwd = str(Path(given["cwd"]).expanduser().resolve()) if given["cwd"] else None
    request = Request(
        source=source,
        to=given["into"],
        file=given["output"],
        cwd=cwd,
        new_id=given["new_id"],
        first=first,
        last=last,
        document_only=given["from_document"],
        force=given["force"],
    )
    report(Archive(store).export(given["session"], request), given["json"])


def parse_rounds(text: str | None) -> tuple[int | None, int | None]:
    """`3-9`, `3-`, `-9` or `4`."""
    if not text:
        return None, None
    first, dash, last = text.partition("-")
    if not (first + last).isdecimal():
        raise click.BadParameter(f"{text!r} is not a range like 3-9", param_hint="--rounds")
    if not dash:
        return int(first), int(first)
    begin, end = (int(first) if first else None), (int(last) if last else None)
    forwards(text, begin, end, "--rounds")
    return begin, end


def report(exported: Exported, json: bool) -> None:
    if json:
        as_json(exported)
        return
    for path in exported.paths:
        out(path)
    if exported.edited:
        told = "the document was edited, and the edits are not in this; `export --from-document` follows them"
        talk(f"  {told}: {exported.edited}")
    for named in exported.tools:
        if named.tool != named.becomes:
            talk(f"  renamed: {named.count} × {named.tool} is {named.becomes}")
        elif named.why:
            talk(f"  name kept: {named.count} × {named.tool} ({named.why})")
    for loss in exported.losses:
        talk(f"  {loss}")
    if exported.note:
        talk(f"  note: {exported.note}")
    tell_resuming(exported.resume, exported.belongs)
