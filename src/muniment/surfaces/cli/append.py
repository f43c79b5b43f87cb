"""`muniment append`"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from muniment.archive import Archive
from muniment.errors import MunimentError
from muniment.inscribe import Outcome
from muniment.model import codec
from muniment.surfaces.cli import progress
from muniment.surfaces.cli.output import many, plain, talk


@click.command()
@click.argument("session", required=False)
@click.option(
    "--hook", is_flag=True, help="Read from standard input what an agent tells its hooks, and take that session."
)
@click.option("--json", is_flag=True, help="One JSON array of outcomes.")
@click.pass_obj
def command(store: str | None, session: str | None, hook: bool, json: bool) -> None:
    """Add what is new in a session since it was last inscribed; without SESSION, in all that are known.

    Reads only the bytes that were added. Running it twice is running it once. As a hook it takes new sessions too, and
    never tells the agent to wait or to stop.
    """
    archive = Archive(store)
    if hook:
        _hook(archive)
        return
    known = [archive.session(session)] if session else archive.sessions()
    paths = [Path(row.path) for row in known if Path(row.path).exists()]
    outcomes = progress.inscribe(archive, paths, json) if paths else []
    progress.fail_if_any(outcomes)
    gone = len(known) - len(paths)
    if gone:
        talk(f"{many(gone, 'session')} without a source file any more; the archive keeps them")


def _hook(archive: Archive) -> None:
    """Whatever goes wrong is told with exit code 1, which agents pass over; others may hold them up."""
    outcomes: list[Outcome] = []
    try:
        path = _told(sys.stdin.buffer.read())
        archive.run(archive.plan(archive.find([path])), outcomes.append)
    except (MunimentError, ValueError, OSError) as error:
        talk(f"muniment: {plain(str(error))}")
        if isinstance(error, MunimentError) and error.hint:
            talk(f"  hint: {error.hint}")
    else:
        progress.tell_failed(outcomes)
        progress.fail_if_any(outcomes)
        return
    raise click.exceptions.Exit(1)


def _told(said: bytes) -> Path:
    """The transcript that an agent tells its hooks of."""
    try:
        path = codec.mapping(codec.loads(said)).get("transcript_path")
    except ValueError:
        raise MunimentError("the hook's input is no JSON", _HOOKS) from None
    if not isinstance(path, str):
        raise MunimentError("the hook's input names no transcript_path", _HOOKS)
    return Path(path).expanduser()


_HOOKS = "agents send it an object with the transcript_path; by hand, say `muniment append SESSION`"
