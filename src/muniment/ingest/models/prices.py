"""What tokens cost, and how many a text has: for the estimate before a run and the count during it.

Prices change. The table says when it was read; `$MUNIMENT_PRICES` names a JSON file whose entries come first:

    {"claude-sonnet-5-5": {"input": 2, "output": 10}, "gpt-x": {"input": 1, "output": 4}}

in dollars for a million tokens. A model in neither has no price, and nothing is guessed for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from muniment.errors import MunimentError
from muniment.ingest.models.settings import Settings

PRICES_DATE = "2026-11"
BYTES_PER_TOKEN = 3.1
"""Measured on transcripts; models differ by a third."""
FEWEST_BYTES_PER_TOKEN = 2.0
"""For the cap on costs: no transcript that was measured came near it."""
BATCH_SHARE = 0.5
MAX_OUTPUT_TOKENS = 16_000
"""With what a model thinks before it answers."""
USUAL_OUTPUT_TOKENS = 1_500


class Price(Struct, frozen=True):
    """Dollars for a million tokens."""

    input: float
    output: float
    long_from: int | None = None
    """A prompt of more tokens than this …"""
    long_times: float = 1
    """… costs so many times as much."""

    def of(self, input_tokens: int, output_tokens: int) -> float:
        times = self.long_times if self.long_from is not None and input_tokens > self.long_from else 1
        return times * (input_tokens * self.input + output_tokens * self.output) / 1_000_000


PRICES: Mapping[str, Price] = {
    "claude-sonnet-5-5": Price(2, 10),
    "claude-sonnet-5": Price(2, 10),
    "claude-sonnet-4-6": Price(3, 15),
    "claude-sonnet-4-5": Price(3, 15),
    "claude-haiku-5-5": Price(0.10, 0.50, long_from=100_000, long_times=5),
    "claude-haiku-4-5": Price(1, 5),
    "claude-opus-5-5": Price(4, 20),
    "claude-opus-5": Price(5, 25),
    "claude-opus-4-8": Price(5, 25),
    "claude-opus-4-7": Price(5, 25),
    "claude-opus-4-6": Price(5, 25),
    "claude-opus-4-5": Price(5, 25),
    "claude-fable-5-2": Price(8, 40),
    "claude-fable-5-1": Price(10, 50),
    "claude-fable-5": Price(10, 50),
}
_OWN_MACHINE = Price(0, 0)
_DATED = re.compile(r"-20\d{6}$")


def price_of(settings: Settings, env: Mapping[str, str]) -> Price | None:
    """The price of the model; None if nobody has told it."""
    own = _own_prices(env)
    names = (settings.model, _DATED.sub("", settings.model))
    told = next((own[name] for name in names if name in own), None)
    if told or settings.kind == "openai":
        return told
    if settings.kind == "ollama":
        return _OWN_MACHINE
    return next((PRICES[name] for name in names if name in PRICES), None)


def _own_prices(env: Mapping[str, str]) -> dict[str, Price]:
    if not (given := env.get("MUNIMENT_PRICES")):
        return {}
    path = Path(given).expanduser()
    try:
        own = msgspec.json.decode(path.read_bytes(), type=dict[str, Price])
    except OSError as error:
        raise MunimentError(f"{path}: {error.strerror}", "$MUNIMENT_PRICES names it") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MunimentError(f"{path}: {error}", 'it looks like {"MODEL": {"input": 2, "output": 10}}') from None
    if any(not (0 <= dollars < math.inf) for price in own.values() for dollars in (price.input, price.output)):
        raise MunimentError(f"{path}: a price is below zero", "dollars for a million tokens")
    return own


def tokens(text: str, bytes_per_token: float = BYTES_PER_TOKEN) -> int:
    """About how many tokens a text has."""
    return math.ceil(len(text.encode("utf-8", "replace")) / bytes_per_token)
