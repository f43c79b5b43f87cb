"""Finding what was said and done: engagements first, then full text over every block, with the place to open.

search(layout, Query("login page"))                 blocks, best first
find(layout, Query("login page", method="debug"))   engagements, sessions that touched a file, and blocks
count(layout, Query(since="2026-03-01"))            engagements by method, project, agent, phase and day
"""

from __future__ import annotations

from muniment.search.blocks import Hit, search
from muniment.search.engagements import FoundEngagement, find_engagements
from muniment.search.everything import Findings, Searched, find, searched
from muniment.search.query import KINDS, Query
from muniment.search.stats import Counts, count
from muniment.search.touched import Touched, find_touched

__all__ = [
    "KINDS",
    "Counts",
    "Findings",
    "FoundEngagement",
    "Hit",
    "Query",
    "Searched",
    "Touched",
    "count",
    "find",
    "find_engagements",
    "find_touched",
    "search",
    "searched",
]
