"""Rewinding by name: which session is meant, and what its transcript tells of the time that is taken back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from muniment.errors import Ambiguous, MunimentError, NotFound
from muniment.model.codec import mapping
from muniment.model.events import TOOL_CALL, Event, call_said
from muniment.record.checkpoint_log import Edit, Rewind
from muniment.record.checkpoints import LOG, Checkpoints
from muniment.record.rewind import RewindReport, rewind, undo
from muniment.record.transcript import Transcript, load

FOLDER = "checkpoints"
_COMMANDS = ("command", "cmd", "script", "code")
"""Inputs by which a tool is known to run something: whatever it is called, its edits are announced by nobody."""


class Request(Struct, frozen=True):
    """What a person asks for."""

    session: str
    to: str | None = None
    force: bool = False
    undo: bool = False
    dry_run: bool = False


def rewind_files(home: Path, request: Request) -> RewindReport:
    """Rewind the files of a session whose checkpoints are in a recorder's home, or undo the latest rewind."""
    folder, transcript = find(home, request.session)
    with Checkpoints(folder) as checkpoints:
        if request.undo:
            return undo(checkpoints, request.force, request.dry_run)
        said = transcript or _told(checkpoints)
        events = said.events if said else []
        to = _whole_id(request.to, checkpoints, events)
        calls = shell_calls(events, to) if said else None
        order = _order(events, checkpoints)
        return rewind(checkpoints, to, request.force, order=order, shell_calls=calls, dry_run=request.dry_run)


def find(home: Path, name: str) -> tuple[Path, Transcript | None]:
    """The checkpoints of a session: by its transcript, which is read then, a unique beginning of its id, or `last`."""
    if "/" in name or name.endswith(".jsonl"):
        path = Path(name)
        if not path.exists():
            raise NotFound(f"{name}: no such file")
        transcript = load(path)
        return _existing(home / FOLDER / Path(transcript.session_id).name), transcript
    logs = sorted((home / FOLDER).glob(f"*/{LOG}"), key=lambda log: log.stat().st_mtime_ns)
    fits = logs[-1:] if name == "last" else [log for log in logs if log.parent.name.startswith(name) and name]
    if len(fits) > 1:
        raise Ambiguous(f"{name!r} could be {len(fits)} sessions", "give more of the id")
    return _existing(fits[0].parent if fits else home / FOLDER / name), None


def _existing(folder: Path) -> Path:
    if not (folder / LOG).is_file():
        raise NotFound(f"no checkpoints of session {folder.name!r}", f"they are looked for in {folder.parent}")
    return folder


def _told(checkpoints: Checkpoints) -> Transcript | None:
    """The transcript that the checkpoints name, if it is still there."""
    path = checkpoints.transcript
    try:
        return load(path) if path else None
    except (MunimentError, OSError):
        return None


def _whole_id(given: str | None, checkpoints: Checkpoints, events: Sequence[Event]) -> str | None:
    """An entry of the transcript, an edit or a rewind, by a unique beginning of its id."""
    if given is None:
        return None
    known = {event.uuid for event in events}
    for entry in checkpoints.entries:
        if isinstance(entry, Edit):
            known.add(entry.entry)
        elif isinstance(entry, Rewind):
            known.add(entry.id)
    fits = {given} & known or {id_ for id_ in known if given and id_.startswith(given)}
    if len(fits) > 1:
        raise Ambiguous(f"{given!r} could be {len(fits)} entries", "give more of the id")
    return next(iter(fits), given)


def _order(events: Sequence[Event], checkpoints: Checkpoints) -> list[str]:
    """The ids of all entries in order. Edits that the transcript's format has no line for are placed by their time."""
    known = {event.uuid for event in events}
    edits = [entry for entry in checkpoints.entries if isinstance(entry, Edit) and entry.entry not in known]
    timed = [(event.ts, event.uuid) for event in events] + [(edit.ts, edit.entry) for edit in edits]
    return [id_ for _, id_ in (sorted(timed, key=lambda pair: pair[0]) if edits else timed)]


def shell_calls(events: Sequence[Event], to: str | None) -> list[str]:
    """The commands that the session ran from an entry on; all of them if the transcript does not know the entry."""
    start = next((i for i, event in enumerate(events) if event.uuid == to), 0)
    return [said for event in events[start:] if event.type == TOOL_CALL and (said := _command(event))]


def _command(call: Event) -> str:
    called = call_said(call.payload)
    given = mapping(called.value)
    said = next((given[name] for name in _COMMANDS if given.get(name)), None)
    words = " ".join(map(str, said)) if isinstance(said, list) else said  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return f"{called.name}: {' '.join(str(words).split())[:200]}" if words else ""
