"""Printing: nothing from a session reaches a terminal but printable characters, newlines and tabs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from msgspec import Struct

from muniment.model import codec
from muniment.model.controls import escape_json
from muniment.model.controls import plain as plain
from muniment.model.words import many as many
from muniment.model.words import shortened


def line(text: str) -> str:
    """Text on one line, fit for a table."""
    return plain(" ".join(text.split()))


def out(text: str = "") -> None:
    click.echo(plain(text))


def talk(text: str) -> None:
    click.echo(plain(text), err=True)


def tell_resuming(command: str, belongs: str | None) -> None:
    """How a written session is resumed, and where it `belongs` if it cannot be resumed where it is."""
    if belongs and command:
        talk(f"to resume it, put it at {belongs}; then: {command}")
    elif command:
        talk(f"resume with: {command}")


def as_json(values: Sequence[Struct] | Struct | dict[str, Any]) -> None:
    """A listing for machines."""
    out_json(codec.encode(values))


def out_json(data: bytes) -> None:
    """JSON for machines, which people look at too: nothing in it steers a terminal."""
    click.echo(escape_json(data))


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Aligned columns; the last one takes what is left of the terminal's width."""
    if not rows:
        return
    rows = [[line(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [headers, *rows]) for i in range(len(headers))]
    width, _ = _terminal()
    widths[-1] = max(20, min(widths[-1], width - sum(widths[:-1]) - 2 * (len(widths) - 1)))
    for number, row in enumerate([headers, *rows]):
        cells = [_cell(text, widths[i], i in right) for i, text in enumerate(row)]
        text = "  ".join(cells).rstrip()
        click.echo(click.style(text, bold=True) if number == 0 else text)


def _terminal() -> tuple[int, int]:
    import shutil

    return shutil.get_terminal_size((120, 40))


def _cell(text: str, width: int, right: bool) -> str:
    shown = shortened(text, width)
    return shown.rjust(width) if right else shown.ljust(width)


def size(count: float) -> str:
    """Bytes as a person says them."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit in ("B", "kB") else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("the last unit takes everything")
