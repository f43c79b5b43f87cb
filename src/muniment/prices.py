"""What tokens cost, and how many a text has: before a run of a model, and for what sessions have cost.

Prices change. The table says when it was read; `$MUNIMENT_PRICES` names a JSON file whose entries come first:

    {"claude-sonnet-5-5": {"input": 2, "output": 10}, "gpt-x": {"input": 1, "output": 4, "cache_read": 0.1}}

in dollars for a million tokens. A model in neither has no price, and nothing is guessed for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from muniment.errors import MunimentError

T = TypeVar("T")
PRICES_DATE = "2026-11"
CACHE_READ_SHARE, CACHE_WRITE_SHARE = 0.1, 1.25
"""Of the price of input, where an entry has no price for the cache: what most providers ask for five minutes."""
BYTES_PER_TOKEN = 3.1
"""Measured on transcripts; models differ by a third."""


class Price(Struct, frozen=True):
    """Dollars for a million tokens."""

    input: float
    output: float
    long_from: int | None = None
    """A prompt of more tokens than this …"""
    long_times: float = 1
    """… costs so many times as much."""
    cache_read: float | None = None
    cache_write: float | None = None
    long_output_times: float | None = None
    """What a long prompt does to the price of its answer, where that is something else."""

    def of(self, input_tokens: int, output_tokens: int, cache_read: int = 0, cache_write: int = 0) -> float:
        """Dollars for one message; `input_tokens` are those that were not cached."""
        is_long = self.long_from is not None and input_tokens + cache_read + cache_write > self.long_from
        times = self.long_times if is_long else 1
        output_times = times if self.long_output_times is None or not is_long else self.long_output_times
        read = self.input * CACHE_READ_SHARE if self.cache_read is None else self.cache_read
        write = self.input * CACHE_WRITE_SHARE if self.cache_write is None else self.cache_write
        prompt = input_tokens * self.input + cache_read * read + cache_write * write
        return (times * prompt + output_times * output_tokens * self.output) / 1_000_000


PRICES: Mapping[str, Price] = {
    "claude-sonnet-5-5": Price(2, 10),
    "claude-sonnet-5": Price(2, 10),
    "claude-sonnet-4-6": Price(3, 15),
    "claude-sonnet-4-5": Price(3, 15),
    "claude-sonnet-4": Price(3, 15),
    "claude-3-7-sonnet": Price(3, 15),
    "claude-haiku-5-5": Price(0.10, 0.50, long_from=100_000, long_times=5),
    "claude-haiku-4-5": Price(1, 5),
    "claude-3-5-haiku": Price(0.8, 4),
    "claude-opus-5-5": Price(4, 20),
    "claude-opus-5": Price(5, 25),
    "claude-opus-4-8": Price(5, 25),
    "claude-opus-4-7": Price(5, 25),
    "claude-opus-4-6": Price(5, 25),
    "claude-opus-4-5": Price(5, 25),
    "claude-opus-4-1": Price(15, 75),
    "claude-opus-4": Price(15, 75),
    "claude-fable-5-2": Price(8, 40),
    "claude-fable-5-1": Price(10, 50),
    "claude-fable-5": Price(10, 50),
    "gpt-5-codex": Price(1.25, 10, cache_read=0.125, cache_write=1.25),
    "gpt-5.2": Price(1.75, 14, cache_read=0.175, cache_write=1.75),
    "gpt-5.2-codex": Price(1.75, 14, cache_read=0.175, cache_write=1.75),
    "gpt-5.3-codex": Price(1.75, 14, cache_read=0.175, cache_write=1.75),
    "gpt-5.4": Price(2.5, 15, 272_000, 2, cache_read=0.25, cache_write=2.5, long_output_times=1.5),
    "gpt-5.6-sol": Price(4, 20, 272_000, 2, cache_read=0.4, cache_write=5, long_output_times=1.5),
}
_DATED = re.compile(r"-20\d{2}-?\d{2}-?\d{2}$")
_WIDER = re.compile(r"\[\w+\]$")


def names_of(model: str) -> Iterator[str]:
    """The names under which a model may be in a table: as given, and without the mark of a window, and the date."""
    yield model
    yield (bare := _WIDER.sub("", model))
    yield _DATED.sub("", bare)


def told_price(model: str, env: Mapping[str, str]) -> Price | None:
    """What the user says that a model costs."""
    own = own_prices(env)
    return next((own[name] for name in names_of(model) if name in own), None)


def list_price(model: str) -> Price | None:
    """What the table says that a model costs."""
    return next((PRICES[name] for name in names_of(model) if name in PRICES), None)


def price_of_model(model: str, env: Mapping[str, str]) -> Price | None:
    """The price of a model; None if nobody has told it."""
    return told_price(model, env) or list_price(model)


def own_prices(env: Mapping[str, str]) -> dict[str, Price]:
    """The user's own table."""
    own = own_table(env, "MUNIMENT_PRICES", dict[str, Price], '{"MODEL": {"input": 2, "output": 10}}')
    if any(not (0 <= dollars < math.inf) for price in own.values() for dollars in _dollars(price)):
        raise MunimentError(f"{env['MUNIMENT_PRICES']}: a price is below zero", "dollars for a million tokens")
    return own


def own_table(env: Mapping[str, str], variable: str, type_: type[dict[str, T]], example: str) -> dict[str, T]:
    """What the file says that a variable names, by model; nothing if there is no such variable."""
    if not (given := env.get(variable)):
        return {}
    path = Path(given).expanduser()
    try:
        return msgspec.json.decode(path.read_bytes(), type=type_)
    except OSError as error:
        raise MunimentError(f"{path}: {error.strerror}", f"${variable} names it") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MunimentError(f"{path}: {error}", f"it looks like {example}") from None


def _dollars(price: Price) -> tuple[float, ...]:
    return price.input, price.output, price.cache_read or 0, price.cache_write or 0


def tokens(text: str, bytes_per_token: float = BYTES_PER_TOKEN) -> int:
    """About how many tokens a text has."""
    return math.ceil(len(text.encode("utf-8", "replace")) / bytes_per_token)
