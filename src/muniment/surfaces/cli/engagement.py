"""`muniment engagement`"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from muniment.model.engagements import METHODS, PHASES
from muniment.prospective import folder, steps
from muniment.prospective.folder import Told
from muniment.prospective.record import Record
from muniment.prospective.speaker import speaker
from muniment.prospective.steps import Begin, Speaker, Step
from muniment.surfaces.cli.output import as_json, line, many, out, table, talk


@click.group()
def command() -> None:
    """Keep a record of a piece of work while it is done: engagement.md, for agents and for people.

    The files lie in .engagements of the working folder, or in $MUNIMENT_ENGAGEMENTS. An ID may be given by its
    beginning. Ingestion takes what is said here before what it finds by itself. Agent and session come from
    $MUNIMENT_AGENT and $MUNIMENT_SESSION, or from the agent that runs the command if it tells.
    """


def _spoken(function: Any) -> Any:
    """The options of every command that says something."""
    function = click.option("--session", metavar="ID", help="The session that says it.")(function)
    return click.option("--agent", metavar="NAME", help="Who says it.")(function)


def _folder() -> Path:
    return folder.root(Path.cwd(), os.environ)


def _say(id_: str, agent: str | None, session: str | None, step: Callable[[Record, Speaker], Step]) -> None:
    by = speaker(os.environ, agent, session)
    _shown(folder.say(_folder(), id_, lambda record: step(record, by)))


def _shown(told: Told) -> None:
    assert told.record, "what was written can be read"
    out(f"{told.record.id}  {told.record.phase}")
    talk(str(told.path))


@command.command()
@click.argument("topic", nargs=-1, required=True)
@click.option("-m", "--method", type=click.Choice(METHODS), required=True, metavar="METHOD", help=", ".join(METHODS))
@click.option("--id", "id_", metavar="ID", default="", help="Letters, digits, - and _; else made of the topic.")
@click.option("-p", "--project", metavar="PATH", help="Path or name. [else the working folder]")
@click.option("--with", "participants", metavar="NAME", multiple=True, help="Who else takes part; can be repeated.")
@_spoken
def start(
    topic: tuple[str, ...],
    method: str,
    id_: str,
    project: str | None,
    participants: tuple[str, ...],
    agent: str | None,
    session: str | None,
) -> None:
    """Begin: say what the work is about."""
    given = Begin(
        topic=" ".join(topic),
        method=method,
        id=id_,
        project=project or str(Path.cwd()),
        participants=participants,
    )
    _shown(folder.begin(_folder(), given, speaker(os.environ, agent, session)))


@command.command()
@click.argument("id_", metavar="ID")
@click.argument("phase", type=click.Choice(PHASES), metavar="PHASE")
@click.option("--note", default="", help="Why.")
@_spoken
def phase(id_: str, phase: str, note: str, agent: str | None, session: str | None) -> None:
    """Go on to another PHASE: in-progress, blocked, completed, abandoned, handed-off."""
    if phase == "completed":
        _say(id_, agent, session, lambda record, by: steps.complete(record, by, note))
    else:
        _say(id_, agent, session, lambda record, by: steps.phase(record, phase, by, note))


@command.command()
@click.argument("id_", metavar="ID")
@click.argument("text", nargs=-1, required=True)
@_spoken
def decide(id_: str, text: tuple[str, ...], agent: str | None, session: str | None) -> None:
    """Note a decision."""
    _say(id_, agent, session, lambda record, by: steps.decide(record, " ".join(text), by))


@command.command()
@click.argument("id_", metavar="ID")
@click.argument("text", nargs=-1)
@click.option("--close", type=click.IntRange(1), metavar="N", help="Obligation N is met.")
@_spoken
def obligation(id_: str, text: tuple[str, ...], close: int | None, agent: str | None, session: str | None) -> None:
    """Note something that is owed, or close it."""
    if bool(text) == bool(close):
        raise click.UsageError("Say what is owed, or --close N.")
    if close:
        _say(id_, agent, session, lambda record, by: steps.fulfil(record, close, by))
    else:
        _say(id_, agent, session, lambda record, by: steps.oblige(record, " ".join(text), by))


@command.command()
@click.argument("id_", metavar="ID")
@click.option("--to", required=True, metavar="NAME", help="Who takes it from here.")
@click.option("--note", default="", help="What they should know.")
@_spoken
def handoff(id_: str, to: str, note: str, agent: str | None, session: str | None) -> None:
    """Hand it to another, who goes on with `phase ID in-progress`."""
    _say(id_, agent, session, lambda record, by: steps.hand_off(record, to, by, note))


@command.command()
@click.argument("id_", metavar="ID")
@click.option("--outcome", default="", help="What came of it, in one sentence.")
@click.option("--leave-open", is_flag=True, help="Although something is still owed.")
@_spoken
def complete(id_: str, outcome: str, leave_open: bool, agent: str | None, session: str | None) -> None:
    """It is done; the file moves to .engagements/archive."""
    _say(id_, agent, session, lambda record, by: steps.complete(record, by, outcome, leave_open))


@command.command(name="list")
@click.option("--all", "every", is_flag=True, help="Those that are over too.")
@click.option("--conflicts", is_flag=True, help="Where agents and extraction disagree, in the whole archive.")
@click.option("--json", is_flag=True, help="One JSON array.")
@click.pass_obj
def list_(store: str | None, every: bool, conflicts: bool, json: bool) -> None:
    """The engagements of this project."""
    if conflicts:
        _conflicts(store, json)
        return
    told = [one for one in folder.every(_folder()) if every or not one.archived]
    records = [one.record for one in told if one.record]
    for one in told:
        if one.problem:
            talk(f"{one.path}: {one.problem}")
    if json:
        as_json(records)
        return
    cells = [
        (r.id, r.phase, r.method or "", r.updated[:16].replace("T", " "), str(len(r.open_obligations)), r.topic)
        for r in records
    ]
    table(("id", "phase", "method", "updated", "owed", "topic"), cells, right=(4,))
    talk(f"{many(len(records), 'engagement')} in {_folder()}")


def _conflicts(store: str | None, json: bool) -> None:
    from muniment.archive import Archive

    archive = Archive(store)
    archive.require()
    found = [(record, conflict) for record in archive.engagements() for conflict in record.conflicts]
    if json:
        as_json([conflict for _, conflict in found])
        return
    ids = archive.short_ids(record.session_id for record, _ in found)
    cells = [(ids[record.session_id], c.engagement_id, c.field, c.told, c.found, c.by) for record, c in found]
    table(("session", "engagement", "field", "told", "found", "by"), cells)
    talk(f"{many(len(found), 'conflict')}; what was told counts")


@command.command()
@click.argument("id_", metavar="ID")
@click.option("--json", is_flag=True, help="The record as JSON.")
def show(id_: str, json: bool) -> None:
    """One engagement: its file."""
    told = folder.find(_folder(), id_)
    if json and told.record:
        as_json(told.record)
        return
    out(told.data.decode("utf-8", "replace").rstrip("\n"))
    talk(line(told.problem) if told.problem else str(told.path))
