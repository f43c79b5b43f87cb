"""The time, as events tell it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """In UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
