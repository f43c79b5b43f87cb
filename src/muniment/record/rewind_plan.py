"""What a rewind is to do, from the log and the files as they stand; nothing is changed here.

The log is a history of changes to paths, made by edits and by rewinds. "Just before an entry" is, for each path, what
its first change from there on found. Where a change found something else than the one before it had left, others
had edited the file. Every content is known by the edits of others that it goes back to: so a rewind can tell whether
it would lose one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from muniment.errors import MunimentError, NotFound
from muniment.record import paths
from muniment.record.checkpoint_log import Done, Edit, Entry, Left, Rewind, Step
from muniment.record.paths import State


class Change(Struct):
    """One change of one path, by an edit or a rewind."""

    id: str
    entry: str | None
    """The transcript's entry; None for a rewind."""
    path: str
    before: State
    found: frozenset[str]
    """The changes before which others had edited the file, as far as that is in what this one found."""
    kept: frozenset[str]
    """The same of what it left."""
    left: tuple[State, ...] = ()
    """How the file may have been left; empty: nobody noted it."""

    def others_in(self, state: State) -> frozenset[str] | None:
        """The edits of others in the file if it stands so after this change; None if they changed it since."""
        if self.left and state not in self.left:
            return None
        return self.found if state == self.before else self.kept


class Wish(Struct, frozen=True):
    """What shall stand at a path, and what speaks against it."""

    path: str
    target: State
    origin: str
    """The change that found it so."""
    now: State | None
    """None: it cannot be told, and so not be changed."""
    trouble: str = ""


def changes_in(entries: Sequence[Entry]) -> list[Change]:
    """The log as changes, in order, each with how it left its file."""
    made = _History()
    for entry in entries:
        if isinstance(entry, Edit):
            made.add(entry.id, entry.entry, entry.path, entry.before)
        elif isinstance(entry, Rewind):
            for step in entry.steps:
                made.add(entry.id, None, step.path, step.before, step)
        elif isinstance(entry, Left) and (edit := made.latest.get(entry.path)) and edit.id == entry.edit:
            edit.left = (entry.after,)
        elif isinstance(entry, Done):
            for change in made.changes:
                if change.id == entry.rewind:
                    change.left = change.left[-1:]
    return made.changes


class _History:
    """Changes as they come in."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.latest: dict[str, Change] = {}
        """By path."""
        self.known: dict[tuple[str, str], Change] = {}
        """By path and id."""

    def add(self, id_: str, entry: str | None, path: str, before: State, step: Step | None = None) -> None:
        found: frozenset[str] | None = frozenset()
        if last := self.latest.get(path):
            found = last.others_in(before)
            found = last.kept | {id_} if found is None else found
        origin = self.known.get((path, step.origin)) if step else None
        left = (before, step.after) if step else ()
        change = Change(id_, entry, path, before, found, origin.found if origin else found, left)
        self.changes.append(change)
        self.latest[path] = self.known[path, id_] = change


def unfinished(entries: Sequence[Entry], asked: Callable[[Rewind], bool]) -> Rewind | None:
    """The rewind that was asked for, if a run of it was killed and nothing has happened to its files since."""
    latest = next((entry for entry in reversed(entries) if isinstance(entry, Edit | Rewind | Done)), None)
    if not isinstance(latest, Rewind) or not asked(latest):
        return None
    for step in latest.steps:
        now, _ = look(step.path)
        if now not in (step.before, step.after):
            return None
    return latest


def look(path: str) -> tuple[State | None, str]:
    try:
        return paths.look(Path(path)), ""
    except MunimentError as error:
        return None, error.message.removeprefix(f"{path}: ")
    except OSError as error:
        return None, f"cannot be read: {error.strerror or error}"


# -- what is to be done


def back_to(changes: Sequence[Change], to: str | None, order: Sequence[str]) -> list[Wish]:
    """Every path that was changed since then, as its first change found it."""
    span: dict[str, list[Change]] = {}
    for change in changes[_position(changes, to, order) :]:
        span.setdefault(change.path, []).append(change)
    return [_wish(own[0], own[-1]) for own in span.values()]


def _wish(first: Change, last: Change) -> Wish:
    """What the first change found, unless that loses what others wrote since."""
    now, trouble = look(first.path)
    others = last.others_in(now) if now else None
    if now is None or now == first.before:
        pass
    elif others is None:
        trouble = "changed by others since"
    elif not last.left and now != last.before:
        trouble = "may hold edits by others: the session ended before it noted how it left the file"
    elif others - first.found:
        trouble = "changed by others between the session's edits"
    return Wish(first.path, first.before, first.id, now, trouble)


def _position(changes: Sequence[Change], to: str | None, order: Sequence[str]) -> int:
    """The first change at or after an entry."""
    if to is None:
        return 0
    if to in order:
        wanted = set(order[order.index(to) :])
    elif any(to in (change.id, change.entry) for change in changes):
        wanted = {to}
    else:
        raise NotFound(f"no entry {to} in this session", "name the id of an entry of the transcript, or of a rewind")
    found = (i for i, change in enumerate(changes) if change.entry in wanted or change.id == to)
    return next(found, len(changes))


def before(rewind: Rewind, changes: Sequence[Change]) -> list[Wish]:
    """Every path of a rewind as the rewind found it, unless it is not as the rewind left it."""
    wishes: list[Wish] = []
    for change in changes:
        if change.id == rewind.id:
            now, trouble = look(change.path)
            if now not in (None, change.before, *change.left):
                trouble = "changed since the rewind"
            wishes.append(Wish(change.path, change.before, change.id, now, trouble))
    return wishes
