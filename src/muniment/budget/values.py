"""What a budget says: how full the window was, and what was spent."""

from __future__ import annotations

from msgspec import Struct

from muniment.budget.windows import WINDOWS_DATE
from muniment.prices import PRICES_DATE

FULL = 0.8
"""From this share of the window on, a round is flagged: agents cut their context not far above it."""


class Spent(Struct, frozen=True):
    """Tokens of some calls, each counted once, and what they cost."""

    calls: int = 0
    input: int = 0
    """What was not cached."""
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    dollars: float | None = 0.0
    """At list prices; None if one of the models has no price."""

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write


class Compacted(Struct, frozen=True):
    """A cut of the context."""

    before: int | None
    """Tokens in the window at the last call before it; None if none is recorded."""
    after: int | None
    """The same at the first call behind it."""


class RoundBudget(Struct, frozen=True):
    """One round: how full the window was at its fullest."""

    round: int
    started: str | None
    model: str | None
    window: int
    """Tokens in the context at the largest call of the round, its answer included."""
    estimated: bool
    """What the model was given is not recorded: made from the sizes of texts."""
    limit: int | None
    """How many tokens fit; None if nobody has told it."""
    share: float | None
    full: bool
    """Above 80 % of the limit."""
    spent: Spent
    compactions: tuple[Compacted, ...] = ()


class SideBudget(Struct, frozen=True):
    """A subagent: a context of its own."""

    id: str
    model: str | None
    window: int
    """At its largest call; 0 if none is recorded."""
    limit: int | None
    share: float | None
    spent: Spent


class Budget(Struct, frozen=True):
    """How full the window of a session was, and what it cost."""

    session_id: str
    rounds: tuple[RoundBudget, ...]
    sidechains: tuple[SideBudget, ...]
    spent: Spent
    """Of the session itself; without messages that another session has paid for."""
    with_sidechains: Spent
    copied: Spent
    """Messages that this session holds a copy of, counted for the session that made them."""
    compactions: int
    unpriced: tuple[str, ...]
    """Models that nobody has told the price of."""
    prices_date: str = PRICES_DATE
    windows_date: str = WINDOWS_DATE
    note: str = f"at list prices of {PRICES_DATE}; not a bill"
