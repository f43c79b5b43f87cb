"""What must change in the files of a session that goes to another project or takes another identity.

The client looks for a project's sessions in a folder that is named after the project's own, and takes none whose
records tell of another project.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from muniment.model import Facts
from muniment.sources.base import Move
from muniment.sources.moving_lines import Swap, swap, swapped
from muniment.sources.qwen.find import PROJECTS


def moved(name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
    """An original file with project and identity changed."""
    old = facts.native_id or facts.session_id
    parts = list(PurePosixPath(name).parts)
    if move.cwd and len(parts) > 2 and parts[0] == PROJECTS:
        parts[1] = called(move.cwd)
    swaps: list[Swap] = []
    if move.session_id:
        new = move.session_id
        parts = [new + part[len(old) :] if part.startswith(old) else part for part in parts]
        swaps.append(swap("sessionId|parentSessionId|promptId|prompt_id", old, new, '["#]'))
    cwd = facts.first_cwd or facts.cwd
    if move.cwd and cwd:
        swaps.append(swap("cwd", cwd, move.cwd, r'["/\\]'))
    is_ours = name.endswith((".jsonl", ".meta.json"))
    return str(PurePosixPath(*parts)), swapped(pieces, swaps) if swaps and is_ours else pieces


def called(folder: str) -> str:
    """What the client calls the folder of a project: other characters become dashes, each as often as UTF-16 has it."""
    return "".join(
        letter if letter.isascii() and letter.isalnum() else "-" * (len(letter.encode("utf-16-le")) // 2)
        for letter in folder
    )
