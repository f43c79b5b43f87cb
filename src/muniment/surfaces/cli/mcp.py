"""`muniment mcp`"""

from __future__ import annotations

from importlib.util import find_spec

import click

from muniment import config
from muniment.errors import Unsupported


@click.command()
@click.pass_obj
def command(store: str | None) -> None:
    """Let agents ask the archive: a server of the Model Context Protocol on standard input and output.

    \b
    claude mcp add muniment -- muniment mcp
    codex mcp add muniment -- muniment mcp

    Where the program is not on PATH, give its whole path: `.venv/bin/muniment` of a clone.

    Its tools search and read, without secrets; one keeps the agent's own record of its work, in .engagements of the
    folder that the server is started in.
    """
    if find_spec("mcp") is None:
        raise Unsupported("the server needs the package `mcp`", config.installing("mcp"))
    from muniment.surfaces.mcp.server import make

    make(store).run("stdio")
