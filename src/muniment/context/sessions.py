"""A pack as a session that an agent resumes: what is told in short, as data in the first prompt, then rounds as they
were.

The session is new: it has an id of its own, made from its content, and ids of records are minted from that.
`composing` chooses the rounds, `messages` makes them fit for any agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from muniment import files, sources
from muniment.context.composing import Composer
from muniment.context.pack import Request, open_sessions
from muniment.errors import Conflict, NotFound
from muniment.model import Loss
from muniment.restore import inside
from muniment.sources.base import Move
from muniment.store.layout import Layout


class Target(Struct, frozen=True):
    """Where a session is written to."""

    source: str
    """Name of a source, or of its family of agents."""
    to: Path | None = None
    """A folder in place of the agent's home."""
    file: Path | None = None
    cwd: str | None = None
    force: bool = False


class Made(Struct, frozen=True):
    """A session that was written."""

    path: str
    session_id: str
    tokens: int
    rounds: tuple[int, ...]
    """Those that are there as they were, by their numbers in the archive."""
    losses: tuple[Loss, ...]
    resume: str
    """The command that resumes it."""
    belongs: str | None = None
    """Where it must be put before it can be resumed, if it was written elsewhere."""


def write(layout: Layout, request: Request, target: Target, env: Mapping[str, str]) -> Made:
    """Write the latest session of the selection as a new one. The store is only read."""
    source = sources.writable(target.source)
    loaded = open_sessions(layout, request)[0]
    composed = Composer(loaded, request).compose()
    move = Move(cwd=target.cwd)
    lines = list(source.write(composed.rounds, composed.facts, move, _no_media, composed.losses))
    base = target.to.absolute() if target.to else source.homes(env)[0]
    path = target.file.absolute() if target.file else inside(base, source.place(composed.facts, move))
    put(path, b"".join(lines), target.force)
    session_id = source.identity(composed.facts, move)
    resume = source.resuming(session_id, str(path))
    belongs = source.belongs(str(path), composed.facts, move, env)
    return Made(str(path), session_id, composed.tokens, composed.kept, tuple(composed.losses), resume, belongs)


def put(path: Path, data: bytes, force: bool) -> None:
    """Write a file; one that is there and differs is replaced only if that was asked for."""
    if path.exists() and not force and path.read_bytes() != data:
        raise Conflict(f"{path} exists and differs", "nothing was written; --force replaces it, -o writes elsewhere")
    files.make_folder(path.parent)
    files.write_atomic(path, [data])


def _no_media(name: str) -> bytes:
    raise NotFound(f"{name}: images are not carried")
