"""What must change in an original file when a session goes to another folder or takes another identity.

The client runs tools in the folder that was recorded, whatever folder it is started in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from muniment.model import Facts
from muniment.sources.base import Move
from muniment.sources.copilot.find import FOLDER
from muniment.sources.moving_lines import changed

Swap = tuple[re.Pattern[bytes], bytes]


def moved(name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
    """An original file with folder and identity changed."""
    old = facts.native_id or facts.session_id
    if move.session_id and name.startswith(f"{FOLDER}/{old}"):
        name = name.replace(old, move.session_id, 1)
    swaps: list[Swap] = []
    if move.session_id:
        swaps.append(_swap("sessionId", old, move.session_id, '"'))
    cwd = facts.first_cwd or facts.cwd
    if move.cwd and cwd:
        swaps.append(_swap("cwd|gitRoot", cwd, move.cwd, r'["/\\]'))
    return name, _swapped(pieces, swaps) if swaps else pieces


def _swapped(pieces: Iterable[bytes], swaps: list[Swap]) -> Iterator[bytes]:
    def change(line: bytes) -> bytes:
        for pattern, new in swaps:
            line = pattern.sub(lambda found, new=new: found[1] + new, line)
        return line

    return changed(pieces, change)


def _swap(fields: str, old: str, new: str, end: str) -> Swap:
    """Inside a text the quotes of a field are escaped, so no text is touched."""
    before, after = (json.dumps(value, ensure_ascii=False)[1:-1].encode() for value in (old, new))
    return re.compile(rf'("(?:{fields})"\s*:\s*")'.encode() + re.escape(before) + f"(?={end})".encode()), after
