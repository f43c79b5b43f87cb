"""Many questions as one batch: half the price, answers within a day.

A batch only fills the cache; sessions are then taken from there one by one, and what the batch left open is asked
singly. The id of a batch is written down before anything else happens, so a run that dies pays nothing twice.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from muniment.errors import MunimentError
from muniment.ingest.models.cache import Cache, Pending
from muniment.ingest.models.claude import Claude
from muniment.ingest.models.client import Unanswered
from muniment.ingest.models.ledger import Ledger
from muniment.ingest.models.prices import BATCH_SHARE
from muniment.ingest.models.prompt import Prompt
from muniment.ingest.models.settings import Settings, base_url
from muniment.model.words import many

Questions = Sequence[tuple[str, Prompt]]
Tell = Callable[[str], None]

LONGEST_POLL = 300.0
_SLOWER = 1.5
_PATIENCE = 10
"""Looks in a row that may fail: a laptop sleeps, a network goes away, the batch goes on."""
_KEY = re.compile(r"[0-9a-f]{64}")


class Batcher(Struct, frozen=True):
    """Who sends batches, and by which rules."""

    client: Claude
    settings: Settings
    env: Mapping[str, str]


def is_ours(pending: Pending, settings: Settings, env: Mapping[str, str]) -> bool:
    """Whether a batch was sent by a run like this one."""
    return (pending.name, pending.url) == (settings.name, base_url(settings, env))


def affordable(questions: Questions, ledger: Ledger) -> Questions:
    """The first questions, as many as fit under the cap if each costs the most it can."""
    worst = 0.0
    for number, (_, question) in enumerate(questions):
        worst += ledger.worst(question.text, BATCH_SHARE)
        if not ledger.affords(worst):
            return questions[:number]
    return questions


def run(questions: Questions, by: Batcher, cache: Cache, ledger: Ledger, tell: Tell) -> set[str]:
    """Send a batch and collect it. Raises Unanswered if it could not be sent."""
    batch_id = by.client.send(questions)
    pending = Pending(batch_id, by.settings.name, base_url(by.settings, by.env), len(questions))
    cache.await_batch(pending)
    return collect(pending, by, cache, ledger, tell)


def collect(pending: Pending, by: Batcher, cache: Cache, ledger: Ledger, tell: Tell) -> set[str]:
    """Wait for a batch and keep its answers; gives their keys. A batch that the server has forgotten gives none."""
    taken: set[str] = set()
    if _ended(pending, by, tell):
        try:
            for key, reply in by.client.results(pending.id):
                if reply and _KEY.fullmatch(key):
                    cache.put(key, reply)
                    ledger.count(reply, BATCH_SHARE)
                    taken.add(key)
        except Unanswered as reason:
            raise _stuck(reason) from None
    cache.collected(pending)
    return taken


def _ended(pending: Pending, by: Batcher, tell: Tell) -> bool:
    """Wait until a batch has ended; False if there is no such batch any more."""
    pause, failures = by.settings.poll, 0
    while True:
        try:
            state = by.client.progress(pending.id)
            if state is None or state[0]:
                return state is not None
            failures = 0
            tell(f"batch of {many(pending.sessions, 'session')}: {state[1]} done")
        except Unanswered as reason:
            failures += 1
            if failures == _PATIENCE:
                raise _stuck(reason) from None
        time.sleep(pause)
        pause = min(pause * _SLOWER, LONGEST_POLL)


def _stuck(reason: Unanswered) -> MunimentError:
    return MunimentError(
        f"the batch cannot be collected now: {reason}", "it goes on by itself; run again to collect it"
    )
