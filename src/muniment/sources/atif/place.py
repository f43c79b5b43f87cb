"""What must change in a trajectory when its session goes to another folder or takes another identity.

The format has a place for the identity; the folder stands in `extra`, where we write it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from muniment.model import Facts
from muniment.sources.base import Move

_STEPS = re.compile(rb'"steps"\s*:\s*\[')
_NOT_PLAIN = re.compile(r"[^\w.-]")
"""Ids are free text here; names of files are not."""


def file_name(identity: str) -> str:
    """The name of a session's document."""
    return _NOT_PLAIN.sub("-", identity) + ".json"


def moved(name: str, pieces: Iterable[bytes], facts: Facts, move: Move) -> tuple[str, Iterable[bytes]]:
    """What stands before the steps, changed; the steps and the style of the file stay as they were."""
    data = b"".join(pieces)
    found = _STEPS.search(data)
    head, rest = (data[: found.start()], data[found.start() :]) if found else (data, b"")
    if move.cwd:
        head = _with(head, "cwd", move.cwd)
    if move.session_id:
        head = _named(head, move.session_id)
        name = str(PurePosixPath(name).with_name(file_name(move.session_id)))
    return name, [head + rest]


def _named(head: bytes, identity: str) -> bytes:
    """The head with another identity; one that has none gets one."""
    changed = _with(_with(head, "session_id", identity), "trajectory_id", identity)
    return changed if changed != head else head.replace(b"{", b'{"session_id":' + _quoted(identity) + b",", 1)


def _quoted(value: str) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _with(head: bytes, field: str, value: str) -> bytes:
    """A field that is there with another value; one that is not there is not made up."""
    pattern = re.compile(rb'("%b"\s*:\s*)"(?:[^"\\]|\\.)*"' % field.encode())
    return pattern.sub(lambda found: found[1] + _quoted(value), head, count=1)
