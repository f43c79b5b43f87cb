"""`muniment verify`"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from muniment.record.inspect import Inspection, inspect
from muniment.record.starting import root_of
from muniment.record.transcript import dialect_named, find
from muniment.surfaces.cli.output import as_json, many, out, talk
from muniment.surfaces.cli.recording import where


@click.command()
@click.argument("session", default="last")
@where
@click.option("--mark", metavar="SIZE:HASH", help="A mark that was printed before; the record must still contain it.")
@click.option("--json", is_flag=True, help="What was found, as JSON.")
def command(session: str, root: str | None, format_: str, mark: str | None, json: bool) -> None:
    """Read a recorded SESSION whole and tell everything that is wrong with it; writes nothing.

    One that was recorded with a seal is also compared, byte for byte, with its hash chain, and a mark is printed. Kept
    in another place and given as --mark later, it proves that nothing before it was cut off or replaced.
    """
    dialect = dialect_named(format_)
    found = inspect(find(root_of(root, Path.cwd(), dialect), session, dialect), mark)
    if json:
        as_json(found)
    else:
        _tell(found)
    if found.problems:
        sys.exit(1)


def _tell(found: Inspection) -> None:
    end = "ended" if found.ended else "no terminator (crashed, or still running)"
    out(f"{found.path}: {many(found.records, 'event')}, {end}")
    for problem in found.problems:
        talk(str(problem))
    if found.unfinished:
        talk(f"the last line is not finished ({found.unfinished} bytes); the next append mends it")
    if found.mark:
        out(f"sealed up to byte {found.mark.split(':')[0]}; mark {found.mark}")
    else:
        talk("not sealed: a change inside a line that is still valid JSON would not show")
    if not found.problems:
        out("nothing is wrong with it")
