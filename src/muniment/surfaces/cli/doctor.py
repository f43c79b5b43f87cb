"""`muniment doctor`"""

from __future__ import annotations

from collections.abc import Sequence

import click

from muniment.archive import Archive
from muniment.doctor import Diagnosis, SecretsAtRest
from muniment.inscribe import Outcome
from muniment.surfaces.cli import progress
from muniment.surfaces.cli.output import as_json, many, out

MAX_SHOWN = 10


@click.command()
@click.option("--rescue", is_flag=True, help="Inscribe the prompts of sessions whose transcripts are lost.")
@click.option("--json", is_flag=True, help="The diagnosis as JSON.")
@click.pass_obj
def command(store: str | None, rescue: bool, json: bool) -> None:
    """Tell what is at risk: sessions an agent will delete soon, never inscribed, already gone, or damaged, and secrets.

    Agents keep a history of prompts longer than the transcripts. --rescue puts into the archive what it has of sessions
    that are gone: your prompts, without the answers. The title of such a session says so; if its transcript turns up
    later, that is inscribed in its place.

    Secrets are looked for in the latest sessions only, which takes a moment; `muniment secrets` looks into all of them.

    The exit code is 1 if anything could still be lost.
    """
    archive = Archive(store)
    rescued = progress.carry_out(archive, archive.plan(archive.lost())) if rescue else []
    diagnosis = archive.doctor(secrets=True)
    if json:
        as_json(diagnosis)
    else:
        _told(rescued)
        report(diagnosis)
    if not diagnosis.healthy:
        raise click.exceptions.Exit(1)


def _told(outcomes: Sequence[Outcome]) -> None:
    """What came of a rescue."""
    done = [outcome for outcome in outcomes if outcome.what != "failed"]
    if done:
        prompts = sum(o.messages for o in done)
        are = "is" if prompts == 1 else "are"
        out(f"{many(prompts, 'prompt')} of {many(len(done), 'lost session')} {are} in the archive")
    progress.tell_failed(outcomes)


def report(diagnosis: Diagnosis) -> None:
    """The findings, the urgent ones first."""
    out(f"{many(diagnosis.found, 'session')} on this machine, {len(diagnosis.not_inscribed)} not wholly in the archive")
    if diagnosis.unreadable:
        out(f"{many(len(diagnosis.unreadable), 'place')} may not be read, and what is there may be lost:")
        _some(list(diagnosis.unreadable))
    urgent = [risk for risk in diagnosis.at_risk if not risk.inscribed]
    if urgent:
        them = "its agent and is" if len(urgent) == 1 else "their agent and are"
        out(f"{many(len(urgent), 'session')} will be deleted by {them} not in the archive:")
        _some([f"{risk.days_left:5.1f} days left  {risk.path}" for risk in urgent])
    safe = len(diagnosis.at_risk) - len(urgent)
    if safe:
        whose, them = ("its", "it") if safe == 1 else ("their", "them")
        out(f"{many(safe, 'session')} will be deleted by {whose} agent within a week; the archive has {them}")
    if diagnosis.vanished:
        out(f"{many(len(diagnosis.vanished), 'session')} gone from disk, safe in the archive (`muniment restore`)")
    if diagnosis.lost:
        out(f"{many(len(diagnosis.lost), 'session')} known from prompt history only; the transcripts are lost:")
        _some(list(diagnosis.lost))
        out("`muniment doctor --rescue` inscribes what is left, which is your prompts")
    if diagnosis.rescued:
        out(f"{many(len(diagnosis.rescued), 'session')} in the archive with nothing but your prompts left")
    if diagnosis.damaged:
        out(f"{many(len(diagnosis.damaged), 'session')} with damaged records (kept as they are):")
        _some([f"{session}  {count}" for session, count in diagnosis.damaged])
    _tell_secrets(diagnosis.secrets)
    if diagnosis.unlisted:
        out(f"{many(len(diagnosis.unlisted), 'session')} in the archive, unknown to its index and not to be found:")
        _some(list(diagnosis.unlisted))
        out("`muniment reindex` puts that right")
    if diagnosis.not_inscribed:
        out("`muniment up` inscribes what is missing")
    elif diagnosis.healthy:
        out("nothing is at risk")


def _tell_secrets(found: SecretsAtRest | None) -> None:
    if not found or not found.looked_at:
        return
    some = f"the latest {found.looked_at:,} of {found.of:,} sessions"
    where = "all sessions" if found.looked_at == found.of else some
    if not found.secrets:
        out(f"no secrets at rest in {where}")
        return
    out(f"{many(found.secrets, 'secret')} at rest in {many(len(found.sessions), 'session')} ({where} searched);")
    out("`muniment secrets` tells where, `muniment html` and `muniment bundle --redact` leave them out")


def _some(lines: list[str]) -> None:
    for text in lines[:MAX_SHOWN]:
        out(f"  {text}")
    if len(lines) > MAX_SHOWN:
        out(f"  … and {len(lines) - MAX_SHOWN} more (--json lists all)")
