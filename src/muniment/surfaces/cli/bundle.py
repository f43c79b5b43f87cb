"""`muniment bundle`"""

from __future__ import annotations

from pathlib import Path

import click

from muniment.archive import Archive
from muniment.surfaces.cli.output import as_json, many, out, size, talk


@click.command()
@click.argument("sessions", nargs=-1, required=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FILE", help="What to write.")
@click.option("--redact", is_flag=True, help="Without secrets, and so without the exact bytes.")
@click.option("--alone", is_flag=True, help="Without the sessions that these begin in.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--json", is_flag=True, help="One JSON object.")
@click.pass_obj
def command(
    store: str | None, sessions: tuple[str, ...], output: Path, redact: bool, alone: bool, force: bool, json: bool
) -> None:
    """Pack SESSIONS into one FILE for another machine or a teammate; `muniment unbundle` takes it in there.

    It holds everything: the original files, documents, rounds, subagents, media, older versions, what people and
    agents said about them, and hashes of it all. It is a tar compressed with zstd. With --redact secrets that are
    recognised are taken out of everything; pictures are not looked into. Sessions that these begin in, as a fork
    may begin in its parent, come along.
    """
    packed = Archive(store).bundle(sessions, output, redact, force, alone)
    if json:
        as_json(packed)
        return
    out(packed.path)
    hidden = f"; {many(packed.secrets, 'secret')} taken out, {packed.left_out} parts left out" if redact else ""
    talk(f"{many(len(packed.sessions), 'session')}, {size(packed.bytes)}{hidden}")
    if not redact:
        talk("it holds the sessions as they are, secrets included; --redact takes them out")
