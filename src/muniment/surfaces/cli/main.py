"""`muniment`: the only place that turns errors into words and exit codes.

Commands are imported when they are called, so that listing sessions does not pay for inscribing them.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import Any

import click

from muniment import __version__
from muniment.errors import MunimentError

COMMANDS = {
    "up": "Find every session on this machine, inscribe it, and report.",
    "view": "See it: a page on this machine, with timeline, transcripts and search.",
    "inscribe": "Put sessions into the archive: files, folders, or every known place.",
    "append": "Add what is new in a session, or in all of them.",
    "sessions": "List the sessions of the archive.",
    "show": "Show a session, or one round of it.",
    "ingest": "Understand sessions as engagements: topic, method, outcome, who.",
    "search": "Find words in everything that was said and done.",
    "context": "What a new agent should know of past sessions, within a budget.",
    "lineage": "Which sessions continue, copy or belong to which.",
    "instructions": "Which CLAUDE.md, AGENTS.md and their like a session worked under.",
    "budget": "How full the window was, round by round, and what it cost.",
    "engagement": "Keep a record of a piece of work while it is done.",
    "mcp": "Let agents ask the archive, by the Model Context Protocol.",
    "watch": "Keep the archive current while agents work.",
    "service": "Keep the archive current in the background, from login on.",
    "restore": "Give the original files back, byte for byte.",
    "export": "Write a session in an agent's own format.",
    "export-claude": "Write a session as a file that Claude Code resumes.",
    "continue": "Go on with a session in another agent.",
    "html": "Write a session as one page, or all of them as a site.",
    "bundle": "Pack sessions into one file for another machine or a teammate.",
    "unbundle": "Take the sessions of a bundle into the archive.",
    "check": "Prove that inscribing loses nothing; writes nothing.",
    "sources": "Which agents are known, and what of theirs is on this machine.",
    "doctor": "What is at risk on this machine and in the archive.",
    "secrets": "List where secrets are in the archive, never the secrets themselves.",
    "tag": "Say which engagement rounds belong to.",
    "roster": "Say who a session was: names and roles of agents.",
    "reindex": "Build documents, rounds and indexes anew from the evidence.",
    "forget": "Delete one session from the archive.",
    "resume": "Go on from a recorded session.",
    "fork": "Begin a new session with the last messages of a recorded one.",
    "history": "The prompts of all recorded sessions on this machine.",
    "rewind-files": "Take back the edits of a recorded session, not its conversation.",
    "verify": "Tell everything that is wrong with a recorded session.",
}
"""Every command with its one-line help, in the order of `--help`."""


class _Commands(click.Group):
    """A group that knows its commands by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"muniment.surfaces.cli.{cmd_name.replace('-', '_')}")
        return module.command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS:
            near = [name for name in COMMANDS if name.startswith(args[0][:3])]
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"No command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--store", metavar="DIR", help="Where the archive is. [env: MUNIMENT_STORE; else the user's data folder]")
@click.version_option(__version__, prog_name="muniment")
@click.pass_context
def cli(ctx: click.Context, store: str | None) -> None:
    """The durable record of what AI agents do.

    \b
    A SESSION is a UUID, a unique prefix of one, the path of its source, or `last`.
    Listings go to standard output, everything else to standard error.

    \b
    Exit codes: 0 done · 1 failed, or a check found losses · 2 wrong usage · 3 not found
    4 ambiguous · 5 unknown format · 6 would overwrite, or does not follow · 7 unsupported
    8 store trouble · 9 not recorded · 130 interrupted

    \b
    NO_COLOR in the environment, if it is not empty, keeps colours off a terminal.
    """
    ctx.obj = store
    if os.environ.get("NO_COLOR"):
        ctx.color = False  # every command asks its context before it prints


def main(args: list[str] | None = None) -> None:
    """Run the command line."""
    try:
        sys.exit(cli.main(args=args, prog_name="muniment", standalone_mode=False))
    except click.Abort:
        _say("interrupted; what was finished is kept", "run the same command again to go on")
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except MunimentError as error:
        _say(error.message, error.hint)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _say(f"{where}{error.strerror or error}", "is the disk full, or the folder not yours?")
        _drop_output()
        sys.exit(8)
    finally:
        gc.freeze()  # the process ends: nothing needs to be looked at once more to be freed


def _drop_output() -> None:
    """What cannot be written is not tried once more at the end of the process, which would have its own exit code."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str, hint: str) -> None:
    from muniment.surfaces.cli.output import plain

    click.echo(f"muniment: {plain(message)}", err=True)
    if hint:
        click.echo(f"  hint: {plain(hint)}", err=True)


if __name__ == "__main__":
    main()
