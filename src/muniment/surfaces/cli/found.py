"""How findings look in a terminal: coloured by method and phase, one round to open for each."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import click

from muniment.model.words import shortened
from muniment.search import Counts, Findings, FoundEngagement, Hit, Touched
from muniment.search.stats import local
from muniment.surfaces.cli.output import line, plain

METHOD_COLOURS = {
    "review": "blue",
    "build": "green",
    "design": "magenta",
    "write": "cyan",
    "debug": "red",
    "research": "bright_cyan",
    "triage": "yellow",
    "reorg": "bright_yellow",
    "plan": "bright_blue",
    "discuss": "bright_magenta",
    "deploy": "bright_green",
}
PHASE_COLOURS = {
    "started": "cyan",
    "in-progress": "yellow",
    "blocked": "red",
    "completed": "green",
    "abandoned": "bright_black",
    "handed-off": "magenta",
}
_MAX_TITLE, _MAX_LINE = 60, 200
_MAX_COUNTED = 15


def print_findings(found: Findings, headed: bool, ids: Mapping[str, str]) -> None:
    """Each kind of finding under its own heading, if there can be several; `ids` has what to show of session ids."""
    several = headed or bool(found.files)
    for name, part, printer in (
        ("Engagements", found.engagements, _engagement),
        ("Sessions that touched it", found.files, _touched),
        ("In the text", found.hits, _hit),
    ):
        if part and several:
            click.echo(click.style(name, bold=True, underline=True))
        for one in part:
            printer(one, ids[one.session_id])  # pyright: ignore[reportArgumentType]
        if part and several:
            click.echo()


def _engagement(e: FoundEngagement, id_: str) -> None:
    method = click.style(
        (e.method or ("ghost" if e.ghost else "named")).ljust(8), fg=METHOD_COLOURS.get(e.method or "")
    )
    phase = click.style((e.phase or "").ljust(11), fg=PHASE_COLOURS.get(e.phase or ""))
    who = line(e.agent_name or e.agent_role or e.agent_id)
    head = f"{_span(e)}  {click.style(id_, bold=True)}  {who}  {method} {phase}"
    project = f" {click.style(line(e.project), underline=True)}" if e.project else ""
    click.echo(f"{head}{project}  {line(e.topic)[:_MAX_LINE]}")
    turns = ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in e.turn_ranges)
    opened = f"muniment show {id_} {e.opens}"
    told = [line(e.outcome)[:_MAX_LINE], f"turns {turns}" if turns else "", line(e.engagement_id or ""), opened]
    click.echo(click.style(f"    {' · '.join(part for part in told if part)}", dim=True))


def _span(e: FoundEngagement) -> str:
    """When it began, and when it ended if that was another day."""
    first, last = local(e.started) or "undated", local(e.ended)
    return first if last[:10] in ("", first[:10]) else f"{first} → {last[:10]}"


def _touched(file: Touched, id_: str) -> None:
    who = f"  {line(file.agent_name)}" if file.agent_name else ""
    head = f"{local(file.started) or 'undated'}  {click.style(id_, bold=True)}{who}"
    click.echo(f"{head}  {shortened(line(file.title), _MAX_TITLE)}")
    told = [
        f"{what} in {_numbers(rounds)}" for what, rounds in (("changed", file.changed), ("named", file.named)) if rounds
    ]
    opened = f"muniment show {id_} {(file.changed or file.named)[-1]}"
    click.echo(click.style(f"    {' · '.join([*told, opened])}", dim=True))


def _numbers(rounds: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, rounds[:10]))
    return f"round{'' if len(rounds) == 1 else 's'} {shown}{', …' if len(rounds) > 10 else ''}"


def _hit(hit: Hit, id_: str) -> None:
    where = f"{hit.kind} {hit.tool}" if hit.tool else hit.kind
    where += f" of subagent {hit.sidechain}" if hit.sidechain else ""
    head = click.style(id_ if hit.sidechain else f"{id_} {hit.opens}", bold=True)
    title = shortened(line(hit.title), _MAX_TITLE)
    click.echo(f"{head}  {local(hit.started)}  {click.style(line(where), dim=True)}  {title}")
    click.echo(f"    {_highlighted(hit)}")
    if hit.sidechain:
        opened = f"muniment show {id_} {hit.round} --subagent {shlex.quote(line(hit.sidechain))}"
        click.echo(click.style(f"    {opened}", dim=True))


def _highlighted(hit: Hit) -> str:
    out, at = "", 0
    for start, end in hit.marks:
        out += plain(hit.snippet[at:start]) + click.style(plain(hit.snippet[start:end]), fg="yellow", bold=True)
        at = end
    return out + plain(hit.snippet[at:])


# -- counts


def print_counts(counts: Counts) -> None:
    """Totals, then a block for each way of counting."""
    totals = (("engagements", counts.engagements), ("sessions", counts.sessions), ("ghosts", counts.ghosts))
    click.echo("  ".join(f"{click.style(f'{number:,}', bold=True)} {name}" for name, number in totals))
    _counted("method", counts.method, METHOD_COLOURS)
    _counted("project", counts.project)
    _counted("agent", counts.agent)
    _counted("phase", counts.phase, PHASE_COLOURS)
    _counted("day", counts.day)


def _counted(name: str, counts: dict[str, int], colours: dict[str, str] | None = None) -> None:
    if not counts:
        return
    click.echo(f"\n{click.style(f'by {name}', bold=True)}")
    for value, number in list(counts.items())[:_MAX_COUNTED]:
        click.echo(f"{number:>7,}  {click.style(line(value), fg=(colours or {}).get(value))}")
    if len(counts) > _MAX_COUNTED:
        click.echo(f"         and {len(counts) - _MAX_COUNTED:,} more")
