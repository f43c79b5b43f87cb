"""What the system says has changed below some folders.

Hints may be missing: those of files made in the same moment as their folder, and all of them where the system has no
more watches to give. Then the watch lives by looking alone.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Sequence

from muniment.watching.stop import Stop

STEP_MS = 100
"""How often the queue of hints is looked at. Twice this passes between a change and its hint."""
DEBOUNCE_MS = 400
TICK_MS = 500
POLL_DELAY_MS = 2000
"""Where the system itself can only be polled."""

Hint = tuple[str, bool]
"""A path, and whether something was removed from there."""


class Hints:
    """A stream of changed paths that can be pointed at other folders."""

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self.roots: frozenset[str] = frozenset()
        self.trouble = ""
        """Why not every change is heard of, if so."""
        self.broke = False
        """Whether the stream ended since somebody looked here."""
        self._stream: Generator[list[Hint]] | None = None

    def follow(self, roots: frozenset[str]) -> None:
        """Watch these folders, and all below them, from now on.

        Also if they are the same as before: the system does not tell when it could not follow a folder that is new."""
        self.close()
        self.roots = roots
        self.trouble = ""
        for lenient in (False, True):
            if roots and not self._stream:
                self._stream = _stream(sorted(roots), self.stop, lenient)
                self.wait()  # a stream begins when it is asked for the first time
        self.broke = False

    def wait(self) -> list[Hint]:
        """What changed, as soon as something does; nothing after a tick."""
        if self._stream is None:
            time.sleep(TICK_MS / 1000)
            return []
        try:
            return next(self._stream)
        except StopIteration:
            return []
        except Exception as error:  # those of watchfiles have no common base
            self._stream = None
            self.broke = True
            why = str(error).partition(" about [")[0]  # at which folder it came to its end differs from time to time
            self.trouble = f"the system does not tell of every change ({why}); looking more often instead"
            return []

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _stream(paths: Sequence[str], stop: Stop, lenient: bool) -> Generator[list[Hint]]:
    """Changes as they come, nothing at every tick.

    A lenient one hears what it can where a folder may not be read, or where there are too many of them."""
    from watchfiles import Change, watch

    changes = watch(
        *paths,
        watch_filter=None,
        debounce=DEBOUNCE_MS,
        step=STEP_MS,
        rust_timeout=TICK_MS,
        yield_on_timeout=True,
        stop_event=stop,
        poll_delay_ms=POLL_DELAY_MS,
        ignore_permission_denied=lenient,
    )
    with contextlib.closing(changes):
        for some in changes:
            yield [(path, change is Change.deleted) for change, path in some]
