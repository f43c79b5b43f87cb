"""Where Codex keeps a session, and which files make it up.

<home>/sessions/YYYY/MM/DD/rollout-<local time>-<thread>.jsonl            the transcript
<home>/sessions/YYYY/MM/DD/rollout-<local time>-<thread>_<rollout>.jsonl  the same thread after a revert
<home>/archived_sessions/rollout-….jsonl                                  put away by the user
….jsonl.zst                                                               packed by the client after some days
<home>/history.jsonl   <home>/session_index.jsonl                         prompts and names of all sessions

A subagent's thread is a session of its own that names its parent. What `codex exec --json` printed lies wherever
somebody saved it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from muniment import files
from muniment.model import codec
from muniment.sources.base import HEAD_BYTES, Found, found_session, head_of, is_redacted, source_file
from muniment.sources.codex import history, stream, zst
from muniment.sources.codex.records import BYTE_ORDER_MARK, ENVELOPES, text
from muniment.sources.homes import Home
from muniment.sources.places import Places

NAME = "codex"
FOLDERS = ("sessions", "archived_sessions")
PLACES = Places(
    main=tuple(f"{folder}/**/rollout-*{end}" for folder in FOLDERS for end in (".jsonl", ".jsonl.zst", ".json")),
    history=tuple(history.FILES),
)
"""A rollout is named by its thread, but a copy of one may tell another: its name is not bound to the id."""

HOME = Home(
    ".codex",
    shown_by=(*FOLDERS, "history.jsonl", "shell_snapshots"),
    places=PLACES,
    named=r"rollout-.*",
    outputs=(("shell_snapshots", "sessions"),),
)

_ROLLOUT = re.compile(r"rollout-.*\.(jsonl|jsonl\.zst|json)")
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAMED = re.compile(rf"rollout-.*?({_UUID})(_{_UUID})?\.")
_LOOKED_AT = 20
_ENVELOPE = re.compile(
    rb'\s*\{\s*"timestamp"\s*:\s*"[^"]*"\s*,\s*(?:"ordinal"\s*:\s*\d+\s*,\s*)?'
    rb'"type"\s*:\s*"([a-z_]+)"\s*,\s*"payload"\s*:\s*\{'
)
_BARE = re.compile(rb'\s*\{\s*"id"\s*:\s*"[^"]*"\s*,\s*"timestamp"\s*:\s*"[^"]*"\s*,\s*"instructions"\s*:')
_DOCUMENT = re.compile(rb'\s*\{\s*"session"\s*:\s*\{[^{}]*"(?:id|timestamp|instructions)"\s*:')
_HINT = re.compile(rb'"(?:payload|record_type|instructions)"')
_META = re.compile(rb'"type"\s*:\s*"session_meta"')
_ID = re.compile(rb'"id"\s*:\s*"([^"\\]{1,128})"')


def homes(env: Mapping[str, str]) -> list[Path]:
    """`$CODEX_HOME` else `~/.codex`."""
    if given := env.get("CODEX_HOME"):
        return [Path(given).expanduser()]
    return [Path(env.get("HOME") or Path.home()) / ".codex"]


def candidates(home: Path) -> Iterator[Path]:
    """Rollouts below a home."""
    for folder in FOLDERS:
        for entry in files.walk(home / folder):
            if _ROLLOUT.fullmatch(entry.name):
                yield Path(entry.path)


def is_side_file(path: Path) -> bool:
    """Return whether the place of a file says that it is no transcript, whatever is in it."""
    return HOME.has_side_file(path)


def matches(path: Path, head: bytes) -> bool:
    """Codex' own record types in their envelope, the head of a bare rollout or of the oldest document, or a stream."""
    head = _opened(path, head)
    lines = head.split(b"\n")[:_LOOKED_AT]
    known = _DOCUMENT.match(head) or any(_is_record(line) or stream.is_stream(line) for line in lines)
    return bool(known) and not _is_nameless_start(path, head)


def _is_nameless_start(path: Path, head: bytes) -> bool:
    """Return whether a file is the start of its first record and neither that record nor its name has an id yet.

    An id made of half a record would be that of another session as soon as the client has written the rest."""
    end = b"}" if _DOCUMENT.match(head) else b"\n"
    if end in head or len(head) >= HEAD_BYTES or _ID.search(head) or _NAMED.match(path.name):
        return False
    try:
        codec.loads(head)
    except ValueError:
        return stream.find_thread(head) is None
    return False


def _opened(path: Path, head: bytes) -> bytes:
    plain = zst.head(head, HEAD_BYTES) if zst.is_packed(path.name) else head
    return plain.removeprefix(BYTE_ORDER_MARK)


def _is_record(line: bytes) -> bool:
    """A whole line by its fields; one cut off by the end of the head by its first ones."""
    if not _HINT.search(line):
        return False
    try:
        record = codec.mapping(codec.loads(line))
    except ValueError:
        cut = _ENVELOPE.match(line)
        return cut[1].decode() in ENVELOPES if cut else bool(_BARE.match(line))
    if record.get("record_type") == "state" or _is_bare_head(record):
        return True
    return text(record, "type") in ENVELOPES and isinstance(record.get("payload"), dict) and "timestamp" in record


def _is_bare_head(record: dict[str, Any]) -> bool:
    """The first line of a rollout before there were envelopes."""
    return record.keys() >= {"id", "timestamp", "instructions"} and not record.keys() & {"type", "payload"}


def gather(paths: Iterable[Path], root: Path, known_homes: Sequence[Path]) -> Iterator[Found]:
    """One `Found` per rollout; several files of a thread are several versions of one session."""
    for path in (path for path in paths if not is_side_file(path)):
        base = _home_of(path)
        top = base or root
        if main := source_file(path, top, "main"):
            native = _native_id(path)
            beside = history.about(base, native) if base else []
            yield found_session(NAME, native, top, base in known_homes, (main, *beside))


def _home_of(path: Path) -> Path | None:
    """The home that a rollout lies in, told by the folders above it."""
    if not _ROLLOUT.fullmatch(path.name):
        return None
    return next((folder.parent for folder in list(path.parents)[:4] if folder.name in FOLDERS), None)


def _native_id(path: Path) -> str:
    """The thread's id: that of the first head in the file, else the one in its name, else one made of its content."""
    head = _opened(path, head_of(path))
    if _DOCUMENT.match(head):
        own = _cut_id(head)
    else:
        own = next((found for line in head.split(b"\n")[:_LOOKED_AT] if (found := _id_in(line))), None)
    own = own or stream.native_id(head.split(b"\n")[:_LOOKED_AT])
    if own and not is_redacted(own):
        return own
    if named := _NAMED.match(path.name):
        return named[1]
    return own or hashlib.sha256(head.split(b"\n", 1)[0]).hexdigest()


def _id_in(line: bytes) -> str | None:
    """The id that a line gives as its file's own, if it is a head."""
    try:
        record = codec.mapping(codec.loads(line))
    except ValueError:
        return _cut_id(line[line.find(b'"payload"') + 1 :]) if _META.search(line) or _BARE.match(line) else None
    head = codec.mapping(record.get("payload")) if record.get("type") == "session_meta" else record
    own = head.get("id") if head is not record or _is_bare_head(record) else None
    return own if isinstance(own, str) else None


def _cut_id(line: bytes) -> str | None:
    found = _ID.search(line)
    return found[1].decode("utf-8", "replace") if found else None
