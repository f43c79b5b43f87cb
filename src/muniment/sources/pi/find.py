"""Where pi keeps a session.

<home>/sessions/--<folder>--/<time>_<uuid>.jsonl   one file each; the folder is the working folder with dashes
<folder>/<time>_<uuid>.jsonl                       where `$PI_CODING_AGENT_SESSION_DIR` names a folder of its own
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from muniment import files
from muniment.model import codec
from muniment.sources.base import Found, found_session, head_of, is_redacted, source_file
from muniment.sources.homes import Home
from muniment.sources.pi.records import BYTE_ORDER_MARK
from muniment.sources.places import Places

NAME = "pi"
FOLDER = "sessions"
PLACES = Places(main=(f"{FOLDER}/--*--/*.jsonl", f"{FOLDER}/*.jsonl", "*Z_{id}.jsonl"))
NAMED = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z_(.+)\.jsonl")

HOME = Home(".pi/agent", shown_by=(FOLDER,), places=PLACES, named=NAMED.pattern)

_LOOKED_AT = 20
_HEADER = re.compile(rb'\s*\{\s*"type"\s*:\s*"session"')
_ID = re.compile(rb'"id"\s*:\s*"([^"\\]{1,128})"')
_ROLES = ("user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage")


def homes(env: Mapping[str, str]) -> list[Path]:
    """`$PI_CODING_AGENT_DIR` else `~/.pi/agent`, and a folder of sessions elsewhere if one is named."""
    user = Path(env.get("HOME") or Path.home())
    given = [env.get("PI_CODING_AGENT_DIR") or str(user / ".pi" / "agent"), env.get("PI_CODING_AGENT_SESSION_DIR")]
    return list(dict.fromkeys(_expanded(folder, user) for folder in given if folder))


def _expanded(folder: str, user: Path) -> Path:
    return user / folder[2:] if folder.startswith("~/") else Path(folder)


def candidates(home: Path) -> Iterator[Path]:
    """Sessions below a home, and those that lie in it as in a folder of sessions."""
    for entry in files.walk(home / FOLDER):
        path = Path(entry.path)
        if NAMED.fullmatch(entry.name) or PLACES.own(path.relative_to(home).as_posix(), "main"):
            yield path
    yield from sorted(path for path in home.glob("*.jsonl") if NAMED.fullmatch(path.name) and not path.is_symlink())


def is_side_file(path: Path) -> bool:
    """Return whether the place of a file says that it is no transcript, whatever is in it."""
    return HOME.has_side_file(path)


def matches(path: Path, head: bytes) -> bool:
    """A header, and behind it nothing but entries of pi; the format `agent` has headers of the same type."""
    head = head.removeprefix(BYTE_ORDER_MARK)
    if not _HEADER.match(head):
        return any(_is_entry(entry) for entry in _entries(head)) if b'"parentId"' in head else False
    entries = list(_entries(head))
    if not entries:
        return bool(_ID.search(head[:512])) and b'"cwd"' in head[:4096]
    return _is_header(entries[0]) and (len(entries) == 1 or any(_is_entry(entry) for entry in entries[1:]))


def _entries(head: bytes) -> Iterator[dict[str, Any]]:
    for line in head.split(b"\n")[:_LOOKED_AT]:
        try:
            entry = codec.mapping(codec.loads(line))
        except ValueError:
            continue
        if entry:
            yield entry


def _is_header(entry: dict[str, Any]) -> bool:
    """Version 1 tells no version; in the format `agent` it does, and has no more than that."""
    return entry.get("type") == "session" and isinstance(entry.get("id"), str) and entry.get("version") != 1


def _is_entry(entry: dict[str, Any]) -> bool:
    """An entry of a tree, an event of a stream, or a message of version 1, which has its role inside and no id."""
    if entry.get("type") in ("agent_start", "message_end"):
        return entry["type"] == "agent_start" or codec.mapping(entry.get("message")).get("role") in _ROLES
    if not isinstance(entry.get("type"), str) or "timestamp" not in entry or "data" in entry:
        return False
    if entry["type"] == "message":
        return codec.mapping(entry.get("message")).get("role") in _ROLES and "role" not in entry
    known = ("model_change", "thinking_level_change", "compaction", "session_info", "branch_summary", "label")
    return entry["type"] in known or (entry["type"].startswith("custom") and "customType" in entry)


def gather(paths: Iterable[Path], root: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    """One session per file."""
    for path in (path for path in paths if not is_side_file(path)):
        base = _home_of(path, known_homes)
        top = base or root
        if main := source_file(path, top, "main"):
            yield found_session(NAME, _native_id(path), top, base in known_homes, (main,))


def _home_of(path: Path, known_homes: Sequence[Path]) -> Path | None:
    """The home that a session lies in: one that is known, or told by the folders above it."""
    if path.parent in known_homes:
        return path.parent
    folder = path.parent.name
    if folder.startswith("--") and folder.endswith("--") and path.parent.parent.name == FOLDER:
        return path.parent.parent.parent
    return path.parent.parent if folder == FOLDER and path.parent.parent in known_homes else None


def _native_id(path: Path) -> str:
    """The id in the header, else the one in the file's name, else one made of its content."""
    line = head_of(path).removeprefix(BYTE_ORDER_MARK).split(b"\n", 1)[0]
    try:
        own = codec.mapping(codec.loads(line)).get("id")
    except ValueError:
        cut = _ID.search(line)
        own = cut[1].decode("utf-8", "replace") if cut else None
    told = own if _HEADER.match(line) and isinstance(own, str) and own else None
    named = NAMED.fullmatch(path.name)
    if told and (named is None or not is_redacted(told)):
        return told
    return named[1] if named else hashlib.sha256(line).hexdigest()
