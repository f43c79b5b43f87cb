"""The watch itself: what changed is inscribed at once, what pauses is understood, and now and then all is looked at.

One thread does one thing at a time, so whatever it is stopped in the middle of is an operation that the archive
survives being killed in.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from muniment import files
from muniment.errors import MunimentError
from muniment.ingest.planning import Choice
from muniment.model.words import many
from muniment.scanning import Scan
from muniment.sweeping import Sweep
from muniment.verifying import Verification
from muniment.watching.alone import alone
from muniment.watching.events import Event, Tell, now
from muniment.watching.hints import Hint, Hints
from muniment.watching.pace import Pace
from muniment.watching.places import Places
from muniment.watching.recent import Recent
from muniment.watching.stop import Stop
from muniment.watching.work import Store, Work

MAX_CHANGED = 1000
"""Changed paths that are kept in mind. When there are more, everything is looked at instead."""
AGAIN_SECONDS = 1.0


class Watch:
    """Keeps one archive current."""

    def __init__(
        self, archive: Store, tell: Tell, pace: Pace | None = None, ingest: bool = True, stop: Stop | None = None
    ) -> None:
        self.layout = archive.layout
        self.tell = tell
        self.pace = pace or Pace()
        self.ingests = ingest
        self.stop = stop or Stop()
        self.places = Places(archive.env)
        self.hints = Hints(self.stop)
        self.work = Work(archive, tell, self.pace)
        self.changed: set[str] = set()
        self.recent = Recent()
        self.again: dict[str, float] = {}
        """New folders, and when to look into them once more: files made in the same moment may have been missed."""
        self.sweeps: list[Sweep] = [Scan(self.layout), Verification(self.layout)]
        self.inscribe_at = self.ingest_at = self.glance_at = self.rescan_at = self.scan_at = 0.0

    def run(self) -> None:
        """Watch until asked to stop. Trouble with the store at the very beginning is raised, later it is told."""
        with alone(self.layout, self.stop, self._stand_by) as mine:
            try:
                if mine:
                    self._begin()
                while mine and not self.stop.is_set():
                    self._turn()
                if mine:
                    self._inscribe_rest(time.monotonic())
                self._understand(self.work.pending.take_all())
            except KeyboardInterrupt:
                pass  # asked to stop, and what was being done took too long
            finally:
                self.hints.close()
        self.tell(Event(now(), "stopped"))

    def once(self) -> bool:
        """Look at everything once; tells whether all of it is in the archive now."""
        found = self.places.look()
        self.work.inscribe(found)
        self.work.mend(found)
        self._tell_what_is_missed()
        if self.ingests:
            self.work.ingest(Choice(skip_existing=True))
        return not (self.work.failing or self.places.refused)

    # -- the loop

    def _begin(self) -> None:
        """Catch up before there are hints: much to do starts processes, and hints come from a thread."""
        self.work.inscribe(self.places.look())
        self._rescan(time.monotonic())
        self.tell(Event(now(), "watching", note=f"{many(self.places.sessions, 'session')} below {self._below()}"))

    def _below(self) -> str:
        return ", ".join(sorted(self.hints.roots)) or "no folder yet"

    def _turn(self) -> None:
        """Wait for a hint or a tick, then do what is due."""
        self._note(self.hints.wait(), time.monotonic())
        at = time.monotonic()
        try:
            if at >= self.rescan_at:
                self._rescan(at)
            elif at >= self.glance_at:
                self._glance(at)
            if self.changed and at >= self.inscribe_at:
                self._inscribe_changed(at)
            if at >= self.ingest_at:
                self._understand(self.work.pending.take_due(at))
            if at >= self.scan_at and not self.changed:
                self._scan()
        except BrokenPipeError:
            raise  # nobody listens any more
        except (MunimentError, OSError) as error:
            self.work.complaints.add("store", Event(now(), "trouble", note=str(error)))
            self.changed.clear()
            self.rescan_at = self.glance_at = self.ingest_at = self.scan_at = at + self.pace.retry

    def _note(self, heard: Iterable[Hint], at: float) -> None:
        """Keep in mind what to look at."""
        for path, removed in heard:
            if not removed and os.path.isdir(path):
                self.again[path] = at + AGAIN_SECONDS
                self.changed.update(_files_in(path))
            elif not removed:
                self.changed.add(path)
        for path in [path for path, due in self.again.items() if due <= at]:
            del self.again[path]
            self.changed.update(_files_in(path))
        if len(self.changed) > MAX_CHANGED:
            self.changed.clear()
            self.rescan_at = at
        if self.hints.broke:
            self.hints.broke = False
            self.rescan_at = min(self.rescan_at, at + self.pace.poll)

    def _rescan(self, at: float) -> None:
        """Look at every session, and follow the folders in which they are now."""
        began = time.process_time()
        self.hints.follow(self.places.roots())
        found = self.places.look()
        if self.places.roots() != self.hints.roots:
            self.hints.follow(self.places.roots())
            found = self.places.look()  # what was written there before it was followed
        took = time.process_time() - began
        self.rescan_at = at + self.pace.after_rescan(took, hints=not self.hints.trouble)
        self.glance_at = at + self.pace.glance
        self._tell_what_is_missed()
        self.work.inscribe(found)
        self.work.mend(found)
        self.work.forget_failures(found)
        if self.ingests:
            self.work.ingest(Choice(skip_existing=True))
        self.work.complaints.settle("store")

    def _glance(self, at: float) -> None:
        """Whether an agent was installed, or used for the first time."""
        began = time.process_time()
        found = self.places.glance()
        self.changed |= self.recent.find_overlooked(at) | self.work.take_retries(at)
        self.glance_at = at + self.pace.after_glance(time.process_time() - began)
        self.work.inscribe(found)
        if found and self.places.roots() != self.hints.roots:
            self.rescan_at = at

    def _inscribe_changed(self, at: float) -> None:
        paths, self.changed = self.changed, set()
        self.recent.note(paths, at)
        self.work.inscribe(self.places.sessions_of(paths, at))
        if self.places.broke:
            self.places.broke = False
            self.rescan_at = min(self.rescan_at, at + self.pace.retry)
        ended = time.monotonic()
        self.inscribe_at = ended + self.pace.after_inscribing(ended - at)

    def _inscribe_rest(self, at: float) -> None:
        """Before the end: what was heard of and had to wait, and what nobody told of."""
        self.changed |= self.recent.find_overlooked(at)
        try:
            self._inscribe_changed(at)
        except (MunimentError, OSError) as error:
            self.work.complaints.add("store", Event(now(), "trouble", note=str(error)))

    def _understand(self, sessions: tuple[str, ...]) -> None:
        if not sessions or not self.ingests:
            return
        began = time.monotonic()
        self.work.ingest(Choice(sessions=sessions, skip_existing=True))
        ended = time.monotonic()
        self.ingest_at = ended + self.pace.after_ingesting(ended - began)

    def _scan(self) -> None:
        """Look for secrets and damage a moment longer, in turns; `doctor` tells what was found."""
        began = time.monotonic()
        sweep = self.sweeps.pop(0)
        self.sweeps.append(sweep)
        more = sweep.advance(self.pace.scan) or any(other.steps for other in self.sweeps)
        ended = time.monotonic()
        self.scan_at = ended + self.pace.after_scanning(ended - began, more)

    # -- telling

    def _tell_what_is_missed(self) -> None:
        complaints = self.work.complaints
        refused = {str(path): why for path, why in self.places.refused.items()}
        for path, why in refused.items():
            complaints.add("look", Event(now(), "failed", path=path, note=why))
        complaints.keep("look", refused)
        if self.hints.trouble:
            complaints.add("hints", Event(now(), "trouble", note=self.hints.trouble))
        else:
            complaints.settle("hints")

    def _stand_by(self, other: str) -> None:
        note = f"another watch (process {other}) keeps this store current; this one takes over when that ends"
        self.tell(Event(now(), "waiting", note=note))


def _files_in(folder: str) -> list[str]:
    return [entry.path for entry in files.walk(Path(folder))]
