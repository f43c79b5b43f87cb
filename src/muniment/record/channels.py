"""The three channels as plain functions, by the names and with the answers of their specification.

For a harness that keeps its own state. Files stay open between calls, so that an append costs the same however long the
session is; `close_all` lets go of them. A prompt and a session's first and last line are durable when the call returns.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Never, NotRequired, TypedDict

from muniment import config, files
from muniment.model.codec import mapping
from muniment.model.events import HEADER, TERMINATOR, USER, Event
from muniment.record.chain import effective
from muniment.record.clock import now
from muniment.record.history import Entry, History, read_entries
from muniment.record.log import Log
from muniment.record.permissions import refuse_grants
from muniment.record.transcript import ancestry, dialect_named, find, load, safe_id

_OPEN_FILES = 64
_DURABLE = frozenset({HEADER, USER, TERMINATOR})
_logs: OrderedDict[Path, Log] = OrderedDict()
_histories: dict[Path, History] = {}
_mutex = threading.Lock()


class TranscriptEvent(TypedDict):
    """What a harness gives."""

    type: str
    payload: Any
    uuid: str
    prev_uuid: NotRequired[str | None]


class Appended(TypedDict):
    """Where an event lies."""

    byte_offset: int
    line_number: int


class Prompt(TypedDict):
    """An entry of the history."""

    prompt: str
    ts: str
    session_id: str
    offset: int


def append_transcript(session_id: str, event: TranscriptEvent, root: str | Path = ".", *misplaced: Never) -> Appended:
    """Add an event to `.transcripts/<session_id>.jsonl`. The same `uuid` with the same content again is a no-op."""
    if misplaced or not {"type", "payload", "uuid"} <= mapping(event).keys():
        # The specification's minimal program has a function of this name that takes type and payload one by one.
        raise TypeError("append_transcript(session_id, event): the event is a dict with `type`, `payload` and `uuid`")
    refuse_grants(event["type"], event["payload"])
    dialect = dialect_named("native")
    folder = dialect.folder(Path(root).absolute())
    made = Event(event["type"], now(), event["uuid"], event.get("prev_uuid"), event["payload"])
    (written,) = dialect.lines([made])
    ack = _opened(folder / f"{safe_id(session_id)}.jsonl").append(written, durable=event["type"] in _DURABLE)
    return {"byte_offset": ack.byte_offset, "line_number": ack.line_number}


def append_history(prompt: str, session_id: str, uuid: str = "", home: str | Path | None = None) -> int:
    """Add a prompt to the history of this machine; gives the byte offset of its line."""
    path = _history_path(home)
    with _mutex:
        history = _histories.setdefault(path, History(path))
    return history.append(prompt, session_id, now(), uuid).byte_offset


def read_history(
    limit: int = 50, reverse: bool = True, home: str | Path | None = None, env: Mapping[str, str] | None = None
) -> list[Prompt]:
    """The latest prompts of all sessions, newest first. `HISTORY_RETAIN_DAYS` hides older ones."""
    found = read_entries(_history_path(home), limit, reverse, os.environ if env is None else env)
    return [_prompt(entry) for entry in found]


def resume(session_id: str, root: str | Path = ".") -> list[dict[str, Any]]:
    """The events of a session as the agent sees them: compactions applied, permissions not restored.

    The session is named by a beginning of its id, `last`, or the path of a transcript of any dialect."""
    dialect = dialect_named("native")
    base = Path(root).absolute()
    line = ancestry(base, load(find(base, session_id, dialect)))
    events = [event for transcript in line for event in transcript.events]
    return [{name: getattr(event, name) for name in Event.__struct_fields__} for event in effective(events)]


def close_all() -> None:
    """Flush and close every file that the functions above opened."""
    with _mutex:
        for opened in [*_logs.values(), *_histories.values()]:
            opened.close()
        _logs.clear()
        _histories.clear()


def _opened(path: Path) -> Log:
    """The log of a session, kept open; the one that was not used for longest makes room."""
    with _mutex:
        if path not in _logs:
            files.write_if_changed(path.parent / ".gitignore", b"*\n")
            _logs[path] = Log(path, dialect_named("native"))
            if len(_logs) > _OPEN_FILES:
                _logs.popitem(last=False)[1].close()
        _logs.move_to_end(path)
        return _logs[path]


def _history_path(home: str | Path | None) -> Path:
    folder = Path(home).absolute() if home is not None else config.recorder_home(os.environ)
    return folder / "history.jsonl"


def _prompt(entry: Entry) -> Prompt:
    return {"prompt": entry.prompt, "ts": entry.ts, "session_id": entry.session_id, "offset": entry.offset}
