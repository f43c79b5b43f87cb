"""Rewinding files: a session's edits are taken back, and the conversation stays as it is.

A rewind is planned in full first. It is refused, and nothing is changed, if it would destroy what others wrote. Then
what stands there now is kept, the plan goes into the log, the new content is written beside each file, and only then do
the files change, each in one step. So a kill at any moment leaves each file old or new, running it again finishes the
plan of the log, and every rewind can be undone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from muniment.errors import Conflict, NotFound
from muniment.record import paths
from muniment.record.checkpoint_log import Done, Entry, Rewind, Step
from muniment.record.checkpoints import Checkpoints
from muniment.record.rewind_plan import Wish, back_to, before, changes_in, look, unfinished


class RewindReport(Struct, frozen=True):
    """What a rewind did, or would do, to which files."""

    rewind: str | None
    """Its id in the log: `to` this takes the files to where they were before it. None: nothing had to be done."""
    restored: tuple[str, ...]
    deleted: tuple[str, ...]
    """Did not exist then. Folders that are empty now stay."""
    unchanged: tuple[str, ...]
    conflicts: tuple[str, ...]
    """Files with edits by others, and why: overwritten by force, or what a dry run would refuse."""
    skipped: tuple[str, ...]
    """Could not be put back even by force, and why."""
    outside: tuple[str, ...]
    """Of those restored or deleted, the ones outside the session's folder."""
    shell_calls: tuple[str, ...] | None
    """Commands in the span, which may have changed files that nobody announced. None: not known."""


def rewind(
    checkpoints: Checkpoints,
    to: str | None = None,
    force: bool = False,
    *,
    order: Sequence[str] = (),
    shell_calls: Sequence[str] | None = None,
    dry_run: bool = False,
) -> RewindReport:
    """Take every file back to what it was just before the first edit at or after the entry `to`, or before all edits.

    `order` are the ids of the transcript's entries, for a `to` that is no edit itself; `shell_calls` are reported.
    Raises Conflict if that would destroy edits by others; `force` insists."""
    with checkpoints.alone():
        begun = unfinished(checkpoints.entries, lambda r: r.undoes is None and r.to == to)
        wishes = [] if begun else back_to(changes_in(checkpoints.entries), to, order)
        return _Run(checkpoints, force, dry_run, shell_calls).go(begun, wishes, to=to)


def undo(checkpoints: Checkpoints, force: bool = False, dry_run: bool = False) -> RewindReport:
    """Take back the latest rewind that was not taken back yet."""
    with checkpoints.alone():
        entries = checkpoints.entries
        done = {entry.rewind for entry in entries if isinstance(entry, Done)}
        rewinds = [entry for entry in entries if isinstance(entry, Rewind)]
        undone = {entry.undoes for entry in rewinds if entry.id in done}
        open_ = [entry for entry in rewinds if entry.undoes is None and entry.id not in undone]
        if not open_:
            raise NotFound("there is no rewind to undo")
        begun = unfinished(entries, lambda r: r.undoes == open_[-1].id)
        wishes = [] if begun else before(open_[-1], changes_in(entries))
        return _Run(checkpoints, force, dry_run, ()).go(begun, wishes, undoes=open_[-1].id)


class _Run:
    """One rewind, or what it would do."""

    def __init__(self, checkpoints: Checkpoints, force: bool, dry_run: bool, shell_calls: Sequence[str] | None) -> None:
        self.checkpoints = checkpoints
        self.force = force
        self.dry_run = dry_run
        self.shell_calls = shell_calls

    def go(
        self, begun: Rewind | None, wishes: Sequence[Wish], to: str | None = None, undoes: str | None = None
    ) -> RewindReport:
        """Finish a rewind that was begun, or begin one."""
        troubles = [wish for wish in wishes if wish.trouble]
        if troubles and not self.force and not self.dry_run:
            raise _refusal([f"{wish.path}: {wish.trouble}" for wish in troubles])
        steps = [Step(w.path, w.now, w.target, w.origin) for w in wishes if w.now is not None and w.now != w.target]
        if not self.dry_run:
            _sweep(self.checkpoints.entries)
            if begun is None and (steps or undoes):
                begun = self._begin(steps, to, undoes)
            if begun:
                self._finish(begun)
        return self._report(begun, begun.steps if begun else steps, wishes)

    def _begin(self, steps: Sequence[Step], to: str | None, undoes: str | None) -> Rewind:
        """Keep what stands there now; it must still be what the plan was made for."""
        changed = [s.path for s in steps if self.checkpoints.keep(Path(s.path)) != s.before]
        if changed:
            raise _refusal([f"{path}: changes at this moment" for path in changed])
        return self.checkpoints.add_rewind(to, undoes, tuple(steps))

    def _finish(self, rewind: Rewind) -> None:
        """First all that may fail for want of room or permission, then the changes themselves."""
        ahead = [(i, step) for i, step in enumerate(rewind.steps) if paths.look(Path(step.path)) != step.after]
        try:
            for i, step in ahead:
                if step.after.sha256:
                    content = self.checkpoints.content(step.after.sha256)
                    paths.stage(Path(step.path), _temporary(rewind, i), step.after, content)
            changed = [step.path for i, step in ahead if not _take(step, _temporary(rewind, i))]
        finally:
            _sweep([rewind])
        for folder in {Path(step.path).parent: step.path for step in rewind.steps}.values():
            paths.sync_folder_of(Path(folder))
        if changed:
            raise Conflict(
                f"changed by others at this moment and left alone: {', '.join(changed)}",
                "the other files are rewound; run it again, or undo it",
            )
        self.checkpoints.add_done(rewind)

    def _report(self, done: Rewind | None, steps: Sequence[Step], wishes: Sequence[Wish]) -> RewindReport:
        cwd = self.checkpoints.cwd
        inside = paths.located(cwd / "x").parent if cwd else None
        return RewindReport(
            rewind=done.id if done else None,
            restored=tuple(s.path for s in steps if s.after.sha256),
            deleted=tuple(s.path for s in steps if not s.after.sha256),
            unchanged=tuple(w.path for w in wishes if w.now == w.target),
            conflicts=tuple(f"{w.path}: {w.trouble}" for w in wishes if w.trouble and w.now is not None),
            skipped=tuple(f"{w.path}: {w.trouble}" for w in wishes if w.now is None),
            outside=tuple(s.path for s in steps if inside and not Path(s.path).is_relative_to(inside)),
            shell_calls=None if self.shell_calls is None else tuple(self.shell_calls),
        )


def _refusal(reasons: Sequence[str]) -> Conflict:
    what = "\n  ".join(["the rewind would destroy edits of others; nothing was changed", *reasons])
    return Conflict(what, "--force rewinds them too; it can be undone")


def _take(step: Step, temporary: str) -> bool:
    """Change one file, unless somebody else did since the plan was made."""
    path = Path(step.path)
    if look(step.path)[0] != step.before:
        return False
    if step.after.sha256:
        paths.put(path, temporary)
    else:
        paths.remove(path)
    return True


def _temporary(rewind: Rewind, number: int) -> str:
    """Found again by whoever finishes the rewind, and short however long the file's own name is."""
    return f".muniment-{rewind.id}-{number}.part"


def _sweep(entries: Sequence[Entry]) -> None:
    """Remove what the latest rewind staged and did not use."""
    latest = next((entry for entry in reversed(entries) if isinstance(entry, Rewind)), None)
    if latest is None:
        return
    for number, step in enumerate(latest.steps):
        with contextlib.suppress(Conflict, OSError):
            paths.remove(Path(step.path), _temporary(latest, number))
