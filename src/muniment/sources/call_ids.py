"""Calls under ids that every service takes: no two are alike, and they are of letters and a length that are allowed.

Some models number their calls anew in every turn (`functions.bash:0`), which only the agents that run them bear.
"""

from __future__ import annotations

import re
from collections import Counter

from msgspec import structs

from muniment.model import Tool

_REFUSED = re.compile(r"[^A-Za-z0-9_-]")
LONGEST = 64


class CallIds:
    """The ids of one session; the same session always gets the same."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.used: Counter[str] = Counter()
        self.latest: dict[str, str] = {}
        """What the latest call is called now that had an id."""

    def of(self, tool: Tool) -> Tool:
        """A call under an id of its own; a result that comes later is that of the latest call with its id."""
        if tool.name is not None:
            self.latest[tool.id] = self._free(tool.id)
        now = self.latest.get(tool.id, tool.id)
        return tool if now == tool.id else structs.replace(tool, id=now)

    def _free(self, id_: str) -> str:
        plain = _REFUSED.sub("_", id_)[:LONGEST] or "call"
        made = plain
        while made in self.taken:
            self.used[plain] += 1
            end = f"_{self.used[plain] + 1}"
            made = plain[: LONGEST - len(end)] + end
        self.taken.add(made)
        return made
