"""Where chemigram keeps the sessions of its images.

<workspace>/<image_id>/sessions/YYYY-MM-DDTHH-MM-SS_session_NNN.jsonl   as the decision record says
<workspace>/<image_id>/sessions/<session_id>.jsonl                      as the program does
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from muniment.sources.adr029.payloads import EVENTS
from muniment.sources.base import Found, head_of
from muniment.sources.places import Places
from muniment.sources.recorded import single
from muniment.sources.recorded.places import first_objects, registered
from muniment.sources.recorded.single import FOLDER

NAME = "adr029"
PLACES = Places(main=(f"*/{FOLDER}/*.jsonl",))
_NAMED = re.compile(r"[-\dT]{19}_session_\d+\.jsonl")
_HINTS = (b'"image_id"', *(f'"{name}"'.encode() for name in EVENTS if name != "tool_result"))
"""One of these stands in every file; most files of others have none, and need not be parsed to be told apart."""
_HINT_BYTES = 1 << 13
_HEADERS = {("type", "session_start"), ("kind", "header")}


def homes(env: Mapping[str, str]) -> list[Path]:
    """`$CHEMIGRAM_WORKSPACE`, else `~/Pictures/Chemigram`; then folders in which a recorder was used."""
    given = env.get("CHEMIGRAM_WORKSPACE")
    own = Path(given).expanduser() if given else Path(env.get("HOME") or Path.home()) / "Pictures" / "Chemigram"
    recorded = (folder for folder in registered(env) if any((image / FOLDER).is_dir() for image in _images(folder)))
    return list(dict.fromkeys([own, *recorded]))


def _images(home: Path) -> list[Path]:
    """The folders of images."""
    try:
        return sorted(Path(entry.path) for entry in os.scandir(home) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def candidates(home: Path) -> Iterator[Path]:
    """Sessions below a workspace: by their names, or else by what is in them."""
    for image in _images(home):
        yield from single.candidates(image / FOLDER, _NAMED, matches)


def matches(path: Path, head: bytes) -> bool:
    """A header that names an image, or events of names that no other format has."""
    if not any(hint in head[:_HINT_BYTES] for hint in _HINTS):
        return False
    own: list[bool] = []
    for line in first_objects(head):
        if _is_header(line):
            return True
        own.append(_is_own(line))
    return sum(own) > len(own) // 2


def _is_header(line: dict[str, Any]) -> bool:
    named = any(line.get(field) == value for field, value in _HEADERS)
    return named and isinstance(line.get("image_id"), str) and isinstance(line.get("session_id"), str)


def _is_own(line: dict[str, Any]) -> bool:
    """An event of the decision record; a result alone could be anybody's."""
    kind = line.get("type")
    return isinstance(kind, str) and kind in EVENTS and kind != "tool_result" and "timestamp" in line


def gather(paths: Iterable[Path], root: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    """One session per file."""
    return single.gather(NAME, paths, root, known_homes, lambda path: path.parent.parent.parent, _native_id)


def _native_id(path: Path) -> str:
    """The id in the header, wherever it stands; else the file's name and its image's."""
    for line in first_objects(head_of(path)):
        if _is_header(line):
            return line["session_id"]
    return f"{path.parent.parent.name}/{path.stem}"
