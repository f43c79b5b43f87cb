"""Keeping an archive current while agents work.

What the system says of changed files is a hint: it makes the common case fast, and may miss things. Looking at every
session's files is the truth: at the start, every few minutes, and wherever a folder is new.
"""

from __future__ import annotations

from muniment.watching.events import Event
from muniment.watching.pace import Pace
from muniment.watching.stop import Stop
from muniment.watching.watch import Watch

__all__ = ["Event", "Pace", "Stop", "Watch"]
