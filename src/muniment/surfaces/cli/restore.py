"""`muniment restore`"""

from __future__ import annotations

import uuid
from pathlib import Path

import click

from muniment import files
from muniment.archive import Archive
from muniment.errors import MunimentError
from muniment.restore import Restored, Target
from muniment.sources.base import Move
from muniment.surfaces.cli.output import as_json, many, out, size, talk, tell_resuming


@click.command()
@click.argument("session", required=False)
@click.option("--all", "every", is_flag=True, help="Every session of the archive.")
@click.option("--to", type=click.Path(path_type=Path), metavar="DIR", help="Write below DIR, not to the agent's home.")
@click.option("--cwd", metavar="DIR", help="The project moved: write the session for DIR.")
@click.option("--version", metavar="HASH8", help="An older version of it; `muniment show` names them.")
@click.option("--new-id", is_flag=True, help="Give the restored session an identity of its own.")
@click.option("--force", is_flag=True, help="Replace files that exist and differ.")
@click.option("--json", is_flag=True, help="One JSON array of files.")
@click.pass_obj
def command(
    store: str | None,
    session: str | None,
    every: bool,
    to: Path | None,
    cwd: str | None,
    version: str | None,
    new_id: bool,
    force: bool,
    json: bool,
) -> None:
    """Give the original files of SESSION back, byte for byte: transcript, subagents, side files, history lines.

    They go where the agent looks for them, or below --to. Files get a fresh time, because agents delete by age.
    A file that exists and differs is left alone without --force; one with more in it than the archive has is
    always left alone. If the agent keeps a fork as a pointer to its parent, the parent comes along.

    With --all and --to, a session whose files have names that are taken gets a folder of its own, called by its id.

    Versions of a session that lay at other paths come back with it. To get an older version of a file that was
    overwritten, use --version and its name in `muniment show SESSION`. What came in a bundle to a session of your
    own is written only by --version or --to, and never over a file of another session.
    """
    if bool(session) == every:
        raise click.UsageError("Give a SESSION or --all, not both." if every else "Give a SESSION, or --all.")
    if version and every:
        raise click.UsageError("Give --version with a SESSION, not with --all.")
    archive = Archive(store)
    folder = str(Path(cwd).expanduser().resolve()) if cwd else None
    move = Move(session_id=str(uuid.uuid4()) if new_id else None, cwd=folder)
    archive.require()
    taken: set[str] = set()
    target = Target(to=to, move=move, force=force, taken=taken)
    names = [row.session_id for row in archive.sessions()] if every else [session or ""]
    restored: list[Restored] = []
    failed = 0
    for name in names:
        try:
            done = archive.restore(name, target, alone=every, version=version)
        except MunimentError as error:
            if not every:
                raise
            failed += 1
            talk(f"{name}: {error.message}")
        else:
            restored += done
            taken.update(files.fold(file.path) for file in done)
    _report(restored, json)
    if not (every or json):
        for command in dict.fromkeys(file.resume for file in restored):
            tell_resuming(command, None)
    if failed:
        raise click.exceptions.Exit(1)


def _report(restored: list[Restored], json: bool) -> None:
    if json:
        as_json(restored)
        return
    for file in restored:
        out(f"{file.what:9}  {file.path}")
    talk(f"{many(len(restored), 'file')}, {size(sum(file.bytes for file in restored))} written")
    for file in restored:
        if file.then:
            talk(f"then: {file.then}")
        if file.note:
            talk(f"note: {file.note}")
