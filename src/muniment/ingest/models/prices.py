"""What a run of a model costs: for the estimate before it and the count during it.

The prices are those of `muniment.prices`; here stands which of them holds for the settings of a run.
"""

from __future__ import annotations

from collections.abc import Mapping

from muniment.ingest.models.settings import Settings
from muniment.prices import BYTES_PER_TOKEN as BYTES_PER_TOKEN
from muniment.prices import PRICES as PRICES
from muniment.prices import PRICES_DATE as PRICES_DATE
from muniment.prices import Price as Price
from muniment.prices import list_price, told_price
from muniment.prices import tokens as tokens

FEWEST_BYTES_PER_TOKEN = 2.0
"""For the cap on costs: no transcript that was measured came near it."""
BATCH_SHARE = 0.5
MAX_OUTPUT_TOKENS = 16_000
"""With what a model thinks before it answers."""
USUAL_OUTPUT_TOKENS = 1_500

_OWN_MACHINE = Price(0, 0)


def price_of(settings: Settings, env: Mapping[str, str]) -> Price | None:
    """The price of the model; None if nobody has told it. Who runs an OpenAI-compatible server may ask anything."""
    told = told_price(settings.model, env)
    if told or settings.kind == "openai":
        return told
    return _OWN_MACHINE if settings.kind == "ollama" else list_price(settings.model)
