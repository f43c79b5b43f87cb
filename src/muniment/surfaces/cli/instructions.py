"""`muniment instructions`"""

from __future__ import annotations

import click
from msgspec import structs

from muniment.archive import Archive
from muniment.instructions import Change, Instruction, Instructions
from muniment.surfaces.cli.output import as_json, line, out, plain, table, talk


@click.command()
@click.argument("session")
@click.option("--diff", is_flag=True, help="What changed since the session before it in the same project.")
@click.option("--json", is_flag=True, help="One JSON object.")
@click.pass_obj
def command(store: str | None, session: str, diff: bool, json: bool) -> None:
    """Which CLAUDE.md, AGENTS.md and their like SESSION worked under, with hash and commit.

    Told by the transcript itself, by files that nobody changed since, and by the history of the repository; what none
    of them tells is unknown. Repositories are only read, and nothing of theirs is run.
    """
    found = Archive(store).instructions(session)
    if json:
        as_json(_without_texts(found, diff))
        return
    if found.commit:
        out(f"{found.folder} at {found.commit[:12]}: {found.how}")
    cells = [_cells(one) for one in found.files]
    table(("known by", "level", "sha256", "bytes", "commit", "file"), cells, right=(3,))
    for reason in found.unknown:
        out(f"unknown: {line(reason)}")
    if not found.files:
        talk("no file of instructions is known")
    _print_changes(found, diff)


def _without_texts(found: Instructions, diff: bool) -> Instructions:
    files = tuple(structs.replace(one, text=None) for one in found.files)
    changes = found.changes if diff else tuple(structs.replace(one, diff="") for one in found.changes)
    return structs.replace(found, files=files, changes=changes)


def _cells(one: Instruction) -> tuple[str, ...]:
    via = f"  (imported by {one.imported_by})" if one.imported_by else ""
    why = f"  ({one.why})" if one.known == "unknown" else f"  (round {one.round})" if one.round else ""
    size = "" if one.size is None else f"{one.size:,}"
    return one.known, one.level, (one.sha256 or "")[:12], size, (one.commit or "")[:12], f"{one.path}{via}{why}"


def _print_changes(found: Instructions, diff: bool) -> None:
    if not found.previous:
        out("there is no session before it in this project")
        return
    if not found.changes and found.files:
        out(f"unknown: what changed since {found.previous[:13]}")
        return
    told = [one for one in found.changes if one.what != "same"]
    same = len(found.changes) - len(told)
    out(f"\nsince {found.previous[:13]}: {same} the same" + "".join(f", {one.what} {line(one.path)}" for one in told))
    for one in told if diff else ():
        _print_diff(one)


def _print_diff(one: Change) -> None:
    if not one.diff:
        return
    out(f"\n{line(one.path)}")
    for text in one.diff.splitlines():
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(text[:1])
        click.echo(click.style(plain(text), fg=colour))
