"""How days and rounds are said on the command line, for every command that takes some."""

from __future__ import annotations

from datetime import date
from typing import Any

import click

from muniment.surfaces.cli.output import line


def dated(name: str, help_: str, *short: str) -> Any:
    """An option that takes a day."""
    return click.option(*short, name, metavar="DATE", callback=_day, help=help_)


def _day(_: click.Context, __: click.Parameter, value: str | None) -> date | None:
    try:
        return date.fromisoformat(value) if value is not None else None
    except ValueError:
        raise click.BadParameter(f"{line(value or '')!r} is no day; write it as 2026-03-19") from None


def forwards(text: str, first: int | None, last: int | None, option: str | None = None) -> None:
    """Raise if rounds that were given as `text` end before they begin."""
    if first is not None and last is not None and last < first:
        raise click.BadParameter(f"{line(text)!r} ends before it begins", param_hint=option)
