"""The time, as events tell it."""

from __future__ import annotations

import time

_second = (0, "")
"""The second that was written last: of two events in one second only the milliseconds differ."""


def now() -> str:
    """In UTC, to the millisecond."""
    global _second
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    known, text = _second
    if known != seconds:
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        _second = (seconds, text)
    return f"{text}.{milliseconds:03d}Z"
