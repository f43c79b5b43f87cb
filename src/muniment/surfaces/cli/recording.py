"""What the commands about recorded sessions share: where to look, and in which format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from muniment.surfaces.cli.output import as_json, line, size, table, talk

Command = Callable[..., Any]


def where(command: Command) -> Command:
    """The options that say which recorded sessions are meant."""
    return _where(command, "The format they are recorded in.", "Where they were recorded.")


def where_recorded(command: Command) -> Command:
    """The same for a command that looks at recorded sessions only when told so."""
    return _where(command, "With --recorded, the format of the sessions.", "With --recorded, where that was.")


def _where(command: Command, of_format: str, of_root: str) -> Command:
    format_ = click.option("--format", "format_", default="native", help=f"{of_format} [native]")
    root = click.option("--root", metavar="DIR", help=f"{of_root} [here, or the format's own place]")
    return root(format_(command))


def list_recorded(root: str | None, format_: str, limit: int | None, json: bool) -> None:
    """The sessions recorded in a folder, the latest first."""
    from muniment.record.starting import root_of
    from muniment.record.transcript import dialect_named, recorded

    dialect = dialect_named(format_)
    base = root_of(root, Path.cwd(), dialect)
    rows = recorded(base, dialect)[:limit]
    if json:
        as_json(rows)
        return
    if not rows:
        talk(f"nothing is recorded in {base}")
        return
    cells = [(row.session_id[:8], row.started[:16].replace("T", " "), size(row.size), line(row.prompt)) for row in rows]
    table(("session", "started", "size", "prompt"), cells, right=(2,))
