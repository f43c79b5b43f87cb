"""What a watch tells: one value for a line on the terminal and for a line of JSON. What is wrong is told once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

Kind = Literal["watching", "looked", "inscribed", "ingested", "failed", "trouble", "waiting", "stopped"]
"""`failed` is about one session or file, `trouble` about the watch as a whole."""


class Event(Struct, frozen=True, omit_defaults=True):
    """One thing that happened."""

    at: str
    event: Kind
    session_id: str = ""
    what: str = ""
    """Of a session: new, appended, version …, or extracted, ghost."""
    rounds: int = 0
    engagements: int = 0
    path: str = ""
    note: str = ""
    together: int = 1
    """How many sessions were worked on at the same time."""


Tell = Callable[[Event], None]


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Complaints:
    """What was told to be wrong and still is; told again only if something else is wrong."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self.told: dict[tuple[str, str], str] = {}

    def add(self, topic: str, event: Event) -> None:
        """Tell of something wrong with the event's path or session."""
        key = (topic, event.path or event.session_id)
        if self.told.get(key) != event.note:
            self.told[key] = event.note
            self.tell(event)

    def settle(self, topic: str, about: str = "") -> None:
        """It is well again."""
        self.told.pop((topic, about), None)

    def keep(self, topic: str, about: Collection[str]) -> None:
        """Nothing else of this topic is wrong any more."""
        self.told = {key: note for key, note in self.told.items() if key[0] != topic or key[1] in about}
