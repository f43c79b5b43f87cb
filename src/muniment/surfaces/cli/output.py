"""Printing: nothing from a session reaches a terminal but printable characters, newlines and tabs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import click
from msgspec import Struct

from muniment.model import codec
from muniment.model.words import many as many
from muniment.model.words import shortened

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")


def plain(text: str) -> str:
    """Text without control characters, bidirectional overrides and lone surrogates; each is shown as a sign."""
    return _CONTROL.sub(_sign, text)


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 32 else "\u2421" if code == 127 else "\ufffd"


def line(text: str) -> str:
    """Text on one line, fit for a table."""
    return plain(" ".join(text.split()))


def out(text: str = "") -> None:
    click.echo(plain(text))


def talk(text: str) -> None:
    click.echo(plain(text), err=True)


def tell_resuming(command: str, belongs: str | None) -> None:
    """How a written session is resumed, and where it `belongs` if it cannot be resumed where it is."""
    if belongs:
        talk(f"to resume it, put it at {belongs}; then: {command}")
    elif command:
        talk(f"resume with: {command}")


def as_json(values: Sequence[Struct] | Struct | dict[str, Any]) -> None:
    """A listing for machines."""
    click.echo(codec.encode(values))


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
