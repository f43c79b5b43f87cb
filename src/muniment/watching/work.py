"""What a watch does to the archive: inscribe what changed, understand what paused, and tell of both.

A session that fails is told of once and tried again later; it holds up no other.
"""

from __future__ import annotations

import os
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from muniment.batch import Plan
from muniment.errors import MunimentError
from muniment.ingest import pipeline
from muniment.ingest.planning import Choice
from muniment.inscribe import Outcome, key_path
from muniment.model.words import many
from muniment.sources.base import Found
from muniment.store.layout import Layout
from muniment.watching.events import Complaints, Event, Tell, now
from muniment.watching.pace import Pace, Pending

MANY = 20
"""More sessions than this are told of in one more line."""
BUSY = "another muniment is writing to this store; waiting for it to finish"


class Store(Protocol):
    """What a watch asks of an archive."""

    layout: Layout
    env: Mapping[str, str]

    def plan(self, found: Iterable[Found]) -> Plan: ...

    def run(self, plan: Plan, report: Callable[[Outcome], None], waiting: Callable[[], None] = ...) -> None: ...

    def take_up(
        self, found: Iterable[Found] = ..., report: Callable[[Outcome], None] = ..., waiting: Callable[[], None] = ...
    ) -> None: ...

    def ingest(
        self, choice: Choice, report: Callable[[pipeline.Outcome], None], waiting: Callable[[], None] = ...
    ) -> None: ...


class Work:
    """The archive as a watch uses it."""

    def __init__(self, archive: Store, tell: Tell, pace: Pace) -> None:
        self.archive = archive
        self.tell = tell
        self.complaints = Complaints(tell)
        self.pace = pace
        self.pending = Pending(pace)
        """Sessions that were inscribed and not understood since."""
        self.failing: dict[str, float] = {}
        """Paths of sessions that could not be inscribed, and when to try again."""

    # -- inscribing

    def inscribe(self, found: Sequence[Found]) -> None:
        """What is new of these sessions, save those that failed a moment ago."""
        if not found:
            return  # to compare nothing with all that is known would still take time
        at = time.monotonic()
        todo = self.archive.plan(found).tasks
        tasks = tuple(task for task in todo if self.failing.get(key_path(task.found), 0.0) <= at)
        if len(tasks) > MANY:
            self.tell(Event(now(), "looked", note=f"{many(len(tasks), 'session')} to inscribe"))
        outcomes: list[Outcome] = []
        try:
            self.archive.run(Plan(tasks, 0), outcomes.append, self._wait)
        finally:  # an interruption commits what is whole
            done = [outcome for outcome in outcomes if not self._failed(outcome, at)]
            self.pending.touch((outcome.session_id for outcome in done), at)
            self._tell_inscribed([outcome for outcome in done if outcome.what != "unchanged"])

    def mend(self, found: Sequence[Found]) -> None:
        """Mend what was found to be damaged, and put strays into the index; what nobody can mend is told of once."""
        outcomes: list[Outcome] = []
        self.archive.take_up(found, outcomes.append, self._wait)
        for outcome in outcomes:
            if outcome.what in ("failed", "damaged"):
                said = Event(now(), "failed", outcome.session_id, path=outcome.path, note=outcome.note)
                self.complaints.add("mend", said)
        self._tell_inscribed([outcome for outcome in outcomes if outcome.what in ("healed", "rebuilt")])

    def _failed(self, outcome: Outcome, at: float) -> bool:
        """A session whose file is gone by now did not fail: what the archive had of it, it keeps."""
        self.failing.pop(outcome.path, None)
        if outcome.what != "failed":
            self.complaints.settle("inscribe", outcome.path)
            return False
        if os.path.exists(outcome.path):
            self.failing[outcome.path] = at + self.pace.retry
            said = Event(now(), "failed", outcome.session_id, path=outcome.path, note=outcome.note)
            self.complaints.add("inscribe", said)
        return True

    def _tell_inscribed(self, outcomes: Collection[Outcome]) -> None:
        together = len(outcomes)
        for o in outcomes:
            self.tell(Event(now(), "inscribed", o.session_id, o.what, o.rounds, 0, o.path, o.note, together))
        self._tell_many(Counter(outcome.what for outcome in outcomes))

    def take_retries(self, at: float) -> set[str]:
        """Return the paths of sessions that failed and are to be tried again now: no change may ever tell of them."""
        due = {path for path, when in self.failing.items() if when <= at}
        for path in due:
            del self.failing[path]
        return {path if os.path.exists(path) else path.rpartition("#")[0] for path in due}

    def forget_failures(self, present: Iterable[Found]) -> None:
        """Of sessions that are no more."""
        paths = {key_path(session) for session in present}
        self.failing = {path: at for path, at in self.failing.items() if path in paths}
        self.complaints.keep("inscribe", self.failing)

    # -- understanding

    def ingest(self, choice: Choice) -> None:
        """Understand sessions. A bug in that must not keep any from being inscribed, so it is told and not raised."""
        outcomes: list[pipeline.Outcome] = []
        try:
            self.archive.ingest(choice, outcomes.append, self._wait)
            self.complaints.settle("ingest")
        except (MunimentError, OSError):
            raise
        except Exception:
            bug = "a bug in muniment, while ingesting:\n" + traceback.format_exc()
            self.complaints.add("ingest", Event(now(), "trouble", note=bug))
        for outcome in outcomes:
            self._tell_ingested(outcome, len(outcomes))
        self._tell_many(Counter(outcome.what for outcome in outcomes))

    def _tell_ingested(self, o: pipeline.Outcome, together: int) -> None:
        if o.what == "failed":
            self.complaints.add("ingest", Event(now(), "failed", o.session_id, note=o.note))
            return
        self.complaints.settle("ingest", o.session_id)
        self.tell(Event(now(), "ingested", o.session_id, o.what, 0, o.engagements, "", o.note, together))

    # -- telling

    def _tell_many(self, counts: Counter[str]) -> None:
        if counts.total() > MANY:
            self.tell(Event(now(), "looked", note=", ".join(f"{count:,} {what}" for what, count in counts.items())))

    def _wait(self) -> None:
        self.tell(Event(now(), "waiting", note=BUSY))
