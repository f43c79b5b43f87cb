"""Files that changed a while ago, looked at once more: not every change is told of.

The system's library hands its changes over and then clears its list; a change that arrives between the two is lost.
Mostly the next change of the same file makes up for it, but the last one has no next. So whoever changed lately is
compared with how it was when it was last inscribed, which costs one look at the file and no reading.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from muniment import files

KEEP_SECONDS = 900.0
"""Longer than a session usually pauses; later the next look at everything finds what was missed."""
MAX_RECENT = 2000

State = tuple[int, int]


class Recent:
    """How recently changed files were when they were last inscribed."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[float, State]] = {}
        """The time and the state, the latest last."""

    def note(self, paths: Iterable[str], now: float) -> None:
        """Keep in mind how these files are; to be called before they are read."""
        for path in paths:
            self.seen.pop(path, None)
            self.seen[path] = (now, files.changed_at(Path(path)))
        for path in list(self.seen)[: max(0, len(self.seen) - MAX_RECENT)]:
            del self.seen[path]

    def find_overlooked(self, now: float) -> set[str]:
        """Return the files that are not as they were, though nobody told of a change."""
        self.seen = {path: seen for path, seen in self.seen.items() if seen[0] > now - KEEP_SECONDS}
        states = ((path, files.changed_at(Path(path)), state) for path, (_, state) in self.seen.items())
        return {path for path, is_now, state in states if is_now not in (state, (0, 0))}
