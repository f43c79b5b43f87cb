"""The official client, talking to a real server process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters

T = TypeVar("T")


def server(store: Path, cwd: Path, **env: str) -> StdioServerParameters:
    """How the server is started: as a person would, in a project."""
    code = f"from muniment.surfaces.cli.main import main; main(['--store', {str(store)!r}, 'mcp'])"
    return StdioServerParameters(command=sys.executable, args=["-c", code], cwd=str(cwd), env=env)


def talk(store: Path, cwd: Path, conversation: Callable[[Client], Awaitable[T]], **env: str) -> T:
    """Start a server, have a conversation, and let it end."""

    async def run() -> T:
        async with Client(server(store, cwd, **env), read_timeout_seconds=60) as client:
            return await conversation(client)

    return asyncio.run(run())


def text_of(result: Any) -> str:
    return "\n".join(part.text for part in result.content)
