"""`muniment doctor`"""

from __future__ import annotations

from collections.abc import Sequence

import click

from muniment.archive import Archive
from muniment.doctor import Diagnosis, SecretsAtRest, VerifiedOriginals
from muniment.inscribe import Outcome
from muniment.store.damage_table import Damage
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

    Originals in the archive are verified against their checksums, and sessions searched for secrets. What a watch has
    done lately is not done again. Of the rest the latest are looked at, which takes a moment; the report says how
    many. `muniment check --stored` verifies all, `muniment secrets` searches all.

    The exit code is 1 if anything could still be lost.
    """
    archive = Archive(store)
    rescued = progress.carry_out(archive, archive.plan(archive.lost())) if rescue else []
    diagnosis = archive.doctor(thorough=True)
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
    _tell_found(diagnosis.found, len(diagnosis.not_inscribed))
    if diagnosis.unreadable:
        out(f"{many(len(diagnosis.unreadable), 'place')} may not be read, and what is there is at risk:")
        _some([f"{place}: {diagnosis.reasons[place]}" for place in diagnosis.unreadable])
    _tell_damage(diagnosis.damage)
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
    if diagnosis.gone:
        out(f"{many(len(diagnosis.gone), 'session')} in the archive with nothing but subagents or side files left")
    if diagnosis.misread:
        out(f"{many(len(diagnosis.misread), 'session')} with content that an earlier release read from side files:")
        _some(list(diagnosis.misread))
        out("where the transcript is still on disk, `muniment forget ID` and `muniment inscribe FOLDER` mend it")
    if diagnosis.damaged:
        out(f"{many(len(diagnosis.damaged), 'session')} with damaged records (kept as they are):")
        _some([f"{session}  {count}" for session, count in diagnosis.damaged])
    _tell_verified(diagnosis.verified)
    _tell_secrets(diagnosis.secrets)
    if diagnosis.unlisted:
        out(f"{many(len(diagnosis.unlisted), 'session')} in the archive, unknown to its index and not to be found:")
        _some(list(diagnosis.unlisted))
        out("`muniment reindex` puts that right")
    if diagnosis.not_inscribed:
        out("`muniment up` inscribes what is missing")
    elif diagnosis.nothing_at_risk:
        out("nothing is at risk")


def _tell_found(found: int, missing: int) -> None:
    """How many sessions there are, and whether the archive has them."""
    if not found:
        out("no sessions on this machine")
    elif missing:
        out(f"{many(found, 'session')} on this machine; {missing} not, or not wholly, archived")
    else:
        out(f"{many(found, 'session')} on this machine; {'it is' if found == 1 else 'all are'} archived")


_REMEDIES = {
    "derived": "`muniment reindex` makes these files anew from the originals",
    "not tried": "`muniment up` takes what is lost from the sources, if they still have it",
    "tried": "no source has it any more: put these files back from a backup; all that is intact can still be read",
}
"""What to do about damage, by its kind."""


def _tell_damage(found: Sequence[Damage]) -> None:
    """What is damaged in the archive, and what to do about it."""
    for kind, remedy in _REMEDIES.items():
        if some := [str(one) for one in found if _kind_of(one) == kind]:
            risk = "" if kind == "derived" else " and at risk"
            out(f"{many(len(some), 'place')} of the archive {'is' if len(some) == 1 else 'are'} damaged{risk}:")
            _some(some)
            out(remedy)


def _kind_of(damage: Damage) -> str:
    if damage.derived:
        return "derived"
    return "tried" if damage.tried else "not tried"


def _tell_verified(found: VerifiedOriginals | None) -> None:
    """How many originals were verified against their checksums."""
    if not found or not found.of:
        return
    if found.sessions == found.of:
        out(f"originals verified in {'the session' if found.of == 1 else f'all {found.of:,} sessions'} of the archive")
        return
    where = f"{found.sessions:,} of {many(found.of, 'session')}"
    out(f"originals verified in {where}; `muniment check --stored` verifies all")


def _tell_secrets(found: SecretsAtRest | None) -> None:
    """What is known of secrets, and always of how many sessions."""
    if not found or not found.of:
        return
    if found.looked_at == found.of:
        where = "all sessions searched"
    else:
        where = f"{found.looked_at:,} of {found.of:,} sessions searched; `muniment secrets` searches all"
    if not found.secrets:
        out(f"no secrets found ({where})")
        return
    out(f"{many(found.secrets, 'secret')} at rest in {many(len(found.sessions), 'session')} ({where});")
    out("`muniment secrets` tells where, `muniment html` and `muniment bundle --redact` leave them out")


def _some(lines: list[str]) -> None:
    for text in lines[:MAX_SHOWN]:
        out(f"  {text}")
    if len(lines) > MAX_SHOWN:
        out(f"  … and {len(lines) - MAX_SHOWN} more (--json lists all)")
