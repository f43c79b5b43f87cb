"""Context construction: past sessions as what a new agent begins with, within a budget, every quote with its place.

build(layout, Request(Selection(sessions=("last",))))                  a pack as markdown
build(layout, Request(Selection(engagement="4f2a9c1e-2")), "json")     the same for programs
"""

from __future__ import annotations

from muniment.context.pack import BUDGET, Pack, Request, build
from muniment.context.policies import POLICIES, Explicit, Policy
from muniment.context.selection import Selection
from muniment.context.sessions import Made, Target, write
from muniment.context.spelling import SPELLERS, Account

__all__ = [
    "BUDGET",
    "POLICIES",
    "SPELLERS",
    "Account",
    "Explicit",
    "Made",
    "Pack",
    "Policy",
    "Request",
    "Selection",
    "Target",
    "build",
    "write",
]
