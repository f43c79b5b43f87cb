"""When to do what: pure values over a clock that the caller reads.

A session that is written to all the time is inscribed twice a second, and understood anew only when it pauses. Work
that takes long is done less often, so that a large archive does not keep a core busy.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Pace(Struct, frozen=True):
    """Seconds between one thing and the next."""

    inscribe: float = 0.5
    quiet: float = 3.0
    """After the last change of a session, before it is ingested …"""
    latest: float = 30.0
    """… and after the first, if it never pauses."""
    glance: float = 2.0
    """Between looks at whether an agent was installed."""
    rescan: float = 300.0
    poll: float = 10.0
    """The same where the system does not tell of every change."""
    scan: float = 0.1
    """At a time, for secrets."""
    retry: float = 30.0
    """After something went wrong."""

    def after_inscribing(self, took: float) -> float:
        """Never more than a third of the time, and never so seldom that new text is not found within two seconds."""
        return min(max(self.inscribe, 2 * took), 1.5)

    def after_ingesting(self, took: float) -> float:
        return max(self.inscribe, 5 * took)

    def after_scanning(self, took: float, more: bool) -> float:
        """Take at most one part in two hundred of the time: nobody waits for it, and an idle watch has to stay below
        one hundredth of a core. `muniment secrets` and `check --stored` do the same at once."""
        return max(self.inscribe, 199 * took) if more else self.rescan

    def after_glance(self, took: float) -> float:
        return max(self.glance, 500 * took)

    def after_rescan(self, took: float, hints: bool) -> float:
        """At most one part in two hundred of the time; without all hints, one in a hundred."""
        return max(self.rescan, 200 * took) if hints else max(min(self.poll, self.rescan), 100 * took)


class Pending:
    """Sessions that changed, until they have been quiet for a moment or have waited long enough."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.since: dict[str, tuple[float, float]] = {}
        """First and last change that nobody has looked at."""

    def touch(self, sessions: Iterable[str], now: float) -> None:
        for session_id in sessions:
            first, _ = self.since.get(session_id, (now, now))
            self.since[session_id] = (first, now)

    def take_due(self, now: float) -> tuple[str, ...]:
        """Those whose time has come; they are pending no more."""
        due = tuple(
            session_id
            for session_id, (first, last) in self.since.items()
            if now - last >= self.pace.quiet or now - first >= self.pace.latest
        )
        for session_id in due:
            del self.since[session_id]
        return due

    def take_all(self) -> tuple[str, ...]:
        taken = tuple(self.since)
        self.since.clear()
        return taken
