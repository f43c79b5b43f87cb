"""Where Claude Code looks for a session, and what must change when one moves."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from muniment.model import Facts, codec
from muniment.sources.base import Move
from muniment.sources.moving_lines import changed

MAX_SLUG = 200
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def slug(cwd: str) -> str:
    """The folder name of a project: every other character becomes a dash, long names end in a hash."""
    path = unicodedata.normalize("NFC", cwd)
    units = [chr(unit) if unit < 128 else "-" for unit in _utf16(path)]
    name = _NOT_PLAIN.sub("-", "".join(units))
    return name if len(name) <= MAX_SLUG else f"{name[:MAX_SLUG]}-{_hash36(path)}"


def _utf16(text: str) -> list[int]:
    data = text.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2)]


def _hash36(text: str) -> str:
    """JavaScript's usual 32-bit string hash, in base 36."""
    value = 0
    for unit in _utf16(text):
        value = ((value << 5) - value + unit) & 0xFFFFFFFF
    value = abs(value - (1 << 32) if value >= 1 << 31 else value)
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


def place(facts: Facts, move: Move) -> str:
    """Where a written session belongs below the home."""
    cwd = move.cwd or facts.first_cwd or facts.cwd or "/"
    session_id = identity(facts, move)
    if facts.sidechain:
        return f"projects/{slug(cwd)}/{session_id}/subagents/agent-{facts.sidechain}.jsonl"
    return f"projects/{slug(cwd)}/{session_id}.jsonl"


def identity(facts: Facts, move: Move) -> str:
    """The id that the records tell; the ids of other agents are none to this one."""
    own = facts.native_id if facts.source == "claude-code" else None
    return move.session_id or own or facts.session_id


def moved_name(name: str, facts: Facts, move: Move) -> str:
    """The name of an original file once the session has moved or taken a new identity."""
    old_id, new_id = facts.native_id or facts.session_id, move.session_id
    parts = [new_id + part[len(old_id) :] if new_id and part.startswith(old_id) else part for part in name.split("/")]
    if move.cwd and len(parts) > 2 and parts[0] == "projects":
        parts[1] = slug(move.cwd)
    return str(PurePosixPath(*parts))


def moved_lines(pieces: Iterable[bytes], facts: Facts, move: Move) -> Iterator[bytes]:
    """The original lines with folder and identity changed where the client would stumble over them."""
    swaps = _swaps(facts, move)

    def change(line: bytes) -> bytes:
        for old, new in swaps:
            line = line.replace(old, new)
        return line

    return changed(pieces, change)


def _swaps(facts: Facts, move: Move) -> list[tuple[bytes, bytes]]:
    """Session id everywhere; the folder as `cwd`, as backup parent, and in paths of persisted output."""
    swaps: list[tuple[bytes, bytes]] = []
    old_id = facts.native_id or facts.session_id
    if move.session_id:
        swaps.append((old_id.encode(), move.session_id.encode()))
    old = facts.first_cwd or facts.cwd
    if move.cwd and old:
        swaps.append((f"/projects/{slug(old)}/".encode(), f"/projects/{slug(move.cwd)}/".encode()))
        for field in ("cwd", "realParentDir", "relocatedCwd"):
            for end in ('"', "/"):
                before = f'"{field}":"{_quoted(old)}{end}'.encode()
                swaps.append((before, f'"{field}":"{_quoted(move.cwd)}{end}'.encode()))
    return swaps


def _quoted(path: str) -> str:
    return json.dumps(path, ensure_ascii=False)[1:-1]


def live(home: Path, native_id: str) -> int | None:
    """The process that has a session open, as the client's own registry says."""
    folder = home / "sessions"
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        try:
            entry = codec.mapping(codec.loads(path.read_bytes()))
        except (OSError, ValueError):
            continue
        pid = entry.get("pid")
        if entry.get("sessionId") == native_id and isinstance(pid, int) and _runs(pid):
            return pid
    return None


def _runs(pid: int) -> bool:
    if not 0 < pid < 1 << 31:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
