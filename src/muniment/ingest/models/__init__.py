"""Extraction by a model, on a known budget: Anthropic's, any OpenAI-compatible server's, or one on Ollama.

    settings = Settings(*parse_name("anthropic"), cache=folder, max_cost=2.0)
    estimate(skeletons, settings, env)                          sizes and price, no call
    extract_all(skeletons, settings, env, offline.extract)      skeleton and extraction, one by one

`settings`, `keys` and `prices` say what to ask, with what, for how much; `prompt` and `answer` are the words; `client`
is the door with `claude` and `chat` behind it; `cache`, `ledger` and `batches` keep what was paid for; `run` puts it
together.
"""

from muniment.ingest.models.ledger import Estimate as Estimate
from muniment.ingest.models.ledger import Ledger as Ledger
from muniment.ingest.models.ledger import estimate as estimate
from muniment.ingest.models.prices import PRICES_DATE as PRICES_DATE
from muniment.ingest.models.run import extract_all as extract_all
from muniment.ingest.models.settings import DEFAULT_MODELS as DEFAULT_MODELS
from muniment.ingest.models.settings import Settings as Settings
from muniment.ingest.models.settings import parse_name as parse_name
