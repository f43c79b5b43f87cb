"""What a run may cost, what it has cost, and what it would cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from muniment.errors import MunimentError
from muniment.ingest import skeleton as skeletons
from muniment.ingest.models import prices, prompt
from muniment.ingest.models.cache import Cache, key_of
from muniment.ingest.models.client import Reply
from muniment.ingest.models.prices import BATCH_SHARE, MAX_OUTPUT_TOKENS, USUAL_OUTPUT_TOKENS, Price, price_of
from muniment.ingest.models.settings import Settings
from muniment.ingest.skeleton import Skeleton

AUTO_BATCH = 30
"""From so many sessions on, waiting for a batch is worth half the price."""


class Ledger(Struct):
    """The count of a run. Give one to `extract_all` to read it during the run and after."""

    price: Price | None = None
    max_cost: float | None = None
    calls: int = 0
    cached: int = 0
    """Sessions whose answer was kept from before."""
    fallbacks: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0
    """By the usage that answers tell; None if the price is unknown."""
    perhaps: float = 0.0
    """The most that calls may have cost whose answer never came."""

    def begin(self, settings: Settings, env: Mapping[str, str]) -> None:
        """Take price and cap for a run."""
        self.price, self.max_cost = price_of(settings, env), settings.max_cost
        if self.price is None:
            self.dollars = None
        if self.price is None and self.max_cost is not None:
            raise MunimentError(
                f"nobody has told the price of {settings.name}, so its cost cannot be kept below a cap",
                "give it in the file that $MUNIMENT_PRICES names, or leave the cap away",
            )

    def worst(self, text: str, share: float = 1.0) -> float:
        """The most that a question can cost."""
        if self.price is None:
            return 0.0
        return share * self.price.of(prices.tokens(text, prices.FEWEST_BYTES_PER_TOKEN), MAX_OUTPUT_TOKENS)

    def affords(self, dollars: float) -> bool:
        """Whether the cap allows to spend so much more."""
        if self.max_cost is None:
            return True
        return (self.dollars or 0.0) + self.perhaps + dollars <= self.max_cost

    def count(self, reply: Reply, share: float = 1.0) -> None:
        """An answer came."""
        self.calls += 1
        self.input_tokens += reply.input_tokens
        self.output_tokens += reply.output_tokens
        if self.price is not None and self.dollars is not None:
            self.dollars += share * self.price.of(reply.input_tokens, reply.output_tokens)


class Estimate(Struct, frozen=True):
    """What a run would take, before any call."""

    sessions: int
    cached: int
    """Of these, the ones whose answer is kept."""
    input_tokens: int
    output_tokens: int
    dollars: float | None
    """None if the price is unknown."""
    batch: bool
    """Whether the price is that of a batch."""


def estimate(skeletons_: Iterable[Skeleton], settings: Settings, env: Mapping[str, str]) -> Estimate:
    """Sizes and price of a run; nothing is sent, and no key is needed."""
    cache = Cache(settings.cache)
    sessions = cached = asked = tokens = dollars = 0
    price = price_of(settings, env)
    for session in skeletons_:
        sessions += 1
        if cache.get(key_of(session, settings)):
            cached += 1
            continue
        if not session.turns:
            continue
        asked += 1
        own = prices.tokens(prompt.SYSTEM + skeletons.text(session))
        tokens += own
        dollars += price.of(own, USUAL_OUTPUT_TOKENS) if price else 0
    batch = will_batch(settings, asked)
    return Estimate(
        sessions=sessions,
        cached=cached,
        input_tokens=tokens,
        output_tokens=asked * USUAL_OUTPUT_TOKENS,
        dollars=None if price is None else dollars * (BATCH_SHARE if batch else 1),
        batch=batch,
    )


def will_batch(settings: Settings, sessions: int) -> bool:
    """Whether so many sessions go as a batch."""
    if settings.kind != "anthropic" or not sessions:
        return False
    return sessions >= AUTO_BATCH if settings.batch is None else settings.batch
