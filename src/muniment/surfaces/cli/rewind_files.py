"""`muniment rewind-files`"""

from __future__ import annotations

import os

import click

from muniment import config
from muniment.record.rewind import RewindReport
from muniment.record.rewind_session import Request, rewind_files
from muniment.surfaces.cli.output import as_json, line, many, out, talk


@click.command()
@click.argument("session")
@click.option(
    "--to", metavar="ENTRY", help="Back to just before this entry of the transcript. [default: before all edits]"
)
@click.option("--force", is_flag=True, help="Also where that destroys edits by others.")
@click.option("--undo", is_flag=True, help="Take back the latest rewind instead.")
@click.option("--dry-run", is_flag=True, help="Only show what would happen.")
@click.option("--json", is_flag=True, help="One JSON object.")
def command(session: str, to: str | None, force: bool, undo: bool, dry_run: bool, json: bool) -> None:
    """Take the files that a recorded SESSION edited back to what they were; the conversation stays as it is.

    SESSION is the path of its transcript, a unique beginning of its id, or `last`. Files that did not exist are
    deleted. If others have changed a file since, nothing is done at all without --force. What stood there is kept:
    --undo brings it back. Edits that the session did not announce, as those of shell commands, are not known and stay.
    """
    if undo and to:
        raise click.UsageError("Give --to or --undo.")
    report = rewind_files(config.recorder_home(os.environ), Request(session, to, force, undo, dry_run))
    if json:
        as_json(report)
        return
    _print(report, dry_run, force)


def _print(report: RewindReport, dry_run: bool, force: bool) -> None:
    for what, paths in (("restored", report.restored), ("deleted", report.deleted), ("unchanged", report.unchanged)):
        for path in paths:
            out(f"{what:9}  {line(path)}{'  (outside the session folder)' if path in report.outside else ''}")
    for reason in report.conflicts:
        talk(f"{'edits by others go' if force else 'refused without --force'}: {line(reason)}")
    for reason in report.skipped:
        talk(f"{'left alone' if force else 'refused without --force'}: {line(reason)}")
    changed = len(report.restored) + len(report.deleted)
    talk(f"{many(changed, 'file')} {'would change' if dry_run else 'changed'}")
    if report.shell_calls is None:
        talk("the transcript was not found: whether shell commands changed other files is not known")
    elif report.shell_calls:
        talk("commands that ran in this time, and may have changed other files, which stay as they are:")
        for call in report.shell_calls:
            talk(f"  {line(call)}")
