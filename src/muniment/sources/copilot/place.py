"""What must change in an original file when a session goes to another folder or takes another identity.

The client runs tools in the folder that was recorded, whatever folder it is started in.
"""

from __future__ import annotations

from collections.abc import Iterable

from muniment.model import Facts
from muniment.sources.base import Move
from muniment.sources.copilot.find import FOLDER, OLD_FOLDER
from muniment.sources.moving_lines import Swap, swap, swapped


def moved(name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
    """An original file with folder and identity changed."""
    old = facts.native_id or facts.session_id
    if move.session_id and name.startswith((f"{FOLDER}/{old}", f"{OLD_FOLDER}/session_{old}")):
        name = name.replace(old, move.session_id, 1)
    swaps: list[Swap] = []
    if move.session_id:
        swaps.append(swap("sessionId", old, move.session_id))
    cwd = facts.first_cwd or facts.cwd
    if move.cwd and cwd:
        swaps.append(swap("cwd|gitRoot", cwd, move.cwd, r'["/\\]'))
    return name, swapped(pieces, swaps) if swaps else pieces
