"""What must change in the files of a session that goes to another project or takes another identity.

The client finds the sessions of a project in a folder that is named after the project's own, with a marker in it that
says whose it is. Where another project of that name has it already, the markers differ and a restore says so.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from muniment.model import Facts
from muniment.sources.base import Move
from muniment.sources.gemini.find import FOLDER, MARKER, OUTPUTS, own_id
from muniment.sources.moving_lines import Swap, swap, swapped

PREFIX = "session-"
"""The client sees no transcript without it."""

_HASH = re.compile(rb'("projectHash"\s*:\s*")[^"\\]*(?=")')
_OTHER = re.compile(r"[^a-z0-9]+")


def moved(name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
    """An original file with project and identity changed; inside a text quotes are escaped, so no text is touched."""
    old = own_id(facts.native_id or facts.session_id)
    swaps: list[Swap] = []
    if move.cwd:
        name = _in_project(name, move.cwd)
        if name.endswith(f"/{MARKER}"):
            return name, [move.cwd.encode()]
        swaps.append((_HASH, hashlib.sha256(move.cwd.encode()).hexdigest().encode()))
    if move.session_id:
        name = name.replace(old, move.session_id).replace(f"-{old[:8]}.", f"-{move.session_id[:8]}.")
        swaps.append(swap("sessionId", old, move.session_id))
    is_transcript = name.endswith((".json", ".jsonl")) and f"/{OUTPUTS}/" not in name
    return name, swapped(pieces, swaps) if is_transcript else pieces


def _in_project(name: str, folder: str) -> str:
    """A file's place among those of another project; a transcript from anywhere goes to the others."""
    parts = PurePosixPath(name).parts
    start = next((n for n, part in enumerate(parts) if part in (FOLDER, OUTPUTS, MARKER)), None)
    last = parts[-1] if parts[-1].startswith(PREFIX) else PREFIX + parts[-1]
    below = parts[start:] if start is not None else (FOLDER, last)
    return str(PurePosixPath("tmp", _called(folder), *below))


def _called(folder: str) -> str:
    """What the client calls a project that has its folder's name to itself."""
    return _OTHER.sub("-", PurePosixPath(folder).name.lower()).removeprefix("-").removesuffix("-") or "project"
