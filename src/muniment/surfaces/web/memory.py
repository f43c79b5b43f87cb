"""Keeping the memory of a server that runs for days where its work needs it.

Answers about a large archive are made by several threads and freed a moment later. By default the C library gives
every thread a heap of its own and keeps what was freed there: with 10,000 sessions, 50 clients and 200 lines a second
the server rose from 43 to 181 MB within 150 seconds and had not levelled off, most of which nobody used.
"""

from __future__ import annotations

import ctypes
import sys
import time

_ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h
TRIM_SECONDS = 5.0
"""Between two times that freed memory is given back: to look for it takes milliseconds."""


class Memory:
    """The heap of this process, where the C library lets itself be told; elsewhere nothing is done."""

    def __init__(self) -> None:
        self.trimmed = 0.0
        self.library = ctypes.CDLL(None) if sys.platform == "linux" else None

    def share_heap(self) -> None:
        """Let all threads use one heap; to be called before there are threads. They take turns in Python anyway."""
        if mallopt := getattr(self.library, "mallopt", None):
            mallopt(_ARENA_MAX, 1)

    def give_back(self) -> None:
        """Give freed memory back to the system, once in a while."""
        now = time.monotonic()
        if now - self.trimmed >= TRIM_SECONDS and (trim := getattr(self.library, "malloc_trim", None)):
            self.trimmed = now
            trim(0)
