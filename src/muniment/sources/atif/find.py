"""Where trajectories lie: anywhere. One JSON document is one session, told by the version of its schema.

Harnesses write them wherever they keep their runs; `~/.atif/trajectories` is where we put what is written, and look.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from muniment import files
from muniment.sources.base import Found, found_session, head_of, source_file
from muniment.sources.places import Places
from muniment.sources.raw_json import unmarked

NAME = "atif"
FOLDER = "trajectories"
PLACES = Places(main=(f"{FOLDER}/**/*.json",))
STEPS = "steps"
"""The list of the document."""

_SCHEMA = re.compile(rb'"schema_version"\s*:\s*"ATIF-v')
_STEPS = re.compile(rb'"steps"\s*:\s*\[')
_IDS = tuple(re.compile(rb'"%b"\s*:\s*"([^"\\]{1,200})"' % name) for name in (b"trajectory_id", b"session_id"))
_CONTINUATION = re.compile(rb'"continuation_index"\s*:\s*(\d{1,9})')


def homes(env: Mapping[str, str]) -> list[Path]:
    """A folder of ours: the format belongs to no program."""
    return [Path(env.get("HOME") or Path.home()) / ".atif"]


def candidates(home: Path) -> Iterator[Path]:
    """Documents below a home."""
    for entry in files.walk(home / FOLDER):
        if entry.name.endswith(".json"):
            yield Path(entry.path)


def matches(path: Path, head: bytes) -> bool:
    """A JSON object that names a version of the schema."""
    return unmarked(head).lstrip()[:1] == b"{" and bool(_SCHEMA.search(head))


def gather(paths: Iterable[Path], root: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    """One `Found` per document."""
    for path in paths:
        head = head_of(path)
        main = source_file(path, root, "main")
        if main and matches(path, head):
            yield found_session(NAME, _native_id(head), root, root in known_homes, (main,))


def _native_id(head: bytes) -> str:
    """The trajectory's id, else the session's; a continuation is a session of its own. Else one made of the content."""
    begin = _STEPS.split(head, maxsplit=1)[0]
    found = next((own for pattern in _IDS if (own := pattern.search(begin))), None)
    if found is None:
        return hashlib.sha256(head).hexdigest()
    native = found[1].decode("utf-8", "replace")
    continued = _CONTINUATION.search(begin)
    return f"{native} continued {continued[1].decode()}" if continued else native
