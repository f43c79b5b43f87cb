"""Forks of today's rollouts copy nothing: the head names the thread whose records come first, and where they end."""

from __future__ import annotations

from typing import Any

from muniment.sources.base import Start
from muniment.sources.codex import records
from muniment.sources.codex.records import mapping, text
from muniment.sources.lines import Record


def start(head: dict[str, Any]) -> Start | None:
    """Where a thread begins, if that is in the file of another."""
    base = mapping(head, "history_base")
    thread, end = text(base, "thread_id"), base.get("end_ordinal_exclusive")
    return Start(thread, end) if thread and isinstance(end, int) else None


def ordinal(record: Record) -> int | None:
    """The number of a record in its thread: bytes differ in a thread that was moved, numbers do not."""
    try:
        return records.decode(record.raw).ordinal
    except ValueError:
        return None
