"""Choosing what a new session begins with: rounds as they were, as many as the budget allows, the rest told in short.

What came before a compaction was no longer before the agent's eyes: such rounds are told in short, together with the
summary.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from muniment.context.filling import Filled, within
from muniment.context.loading import Loaded
from muniment.context.messages import alternating, cleaned, rounds_of, spoken, with_sound_ids, words
from muniment.context.pack import LEAST_TOKENS, Request, account_of
from muniment.context.packing import Packer
from muniment.context.policies import Policy, brief
from muniment.context.spelling import Prompt
from muniment.context.tokens import PARTS, Count, counting
from muniment.model import Compaction, Facts, Loss, Message, Round, codec
from muniment.sources.base import NAMESPACE

BRIEF_SHARE = 0.4
"""Of the budget: what is told in short may take so much."""
BLOCK_TOKENS = 16
"""What an envelope around a block costs a model."""
OUTPUTS: tuple[int | None, ...] = (None, 4000, 1000, 300)
"""To how many characters outputs are cut, until a round fits; None leaves them whole."""


class Composed(Struct):
    """A session on its way."""

    rounds: list[Round]
    facts: Facts
    kept: tuple[int, ...]
    tokens: int
    losses: list[Loss]


class Composer:
    """Chooses rounds against the budget, and makes messages of them."""

    def __init__(self, loaded: Loaded, request: Request) -> None:
        self.loaded, self.request = loaded, request
        self.policy: Policy = request.chosen
        self.count: Count = counting(request.bytes_per_token)
        self.lost: Counter[str] = Counter()

    def compose(self) -> Composed:
        short = max(int(self.request.budget * BRIEF_SHARE), min(self.request.budget, LEAST_TOKENS))
        allowed = self.count.allowed(self.request.budget)
        kept = self._kept(allowed - self.count.allowed(short))
        told = self._brief(short, sorted(kept))
        spent = sum(map(self._cost, kept.values())) + self.count.cost(told) + self._envelopes(1)
        assert spent <= allowed, "a session must not cost more than it may"
        rounds = with_sound_ids(message for number in sorted(kept) for message in kept[number])
        messages = alternating([words("user", told), *rounds])
        losses = [Loss("context", what, "stays in the archive", n) for what, n in sorted(self.lost.items())]
        facts = self._facts(messages)
        return Composed(rounds_of(messages), facts, tuple(sorted(kept)), self.count.tokens(spent), losses)

    # -- which rounds

    def _wanted(self) -> list[int]:
        """The latest first."""
        if self.policy == "explicit" and self.request.explicit:
            return sorted(within(self.loaded.scope.rounds, self.request.explicit.full), reverse=True)
        if self.policy == "archaeology":
            return sorted(self.loaded.scope.rounds, reverse=True)
        return self.loaded.live[::-1]

    def _kept(self, room: int) -> dict[int, list[Message]]:
        """Rounds as they were, the latest first, until one does not fit or the conversation had been compacted."""
        kept: dict[int, list[Message]] = {}
        for number in self._wanted():
            round_ = self.loaded.round(number)
            for limit in OUTPUTS:
                messages = cleaned(round_, limit, Counter())
                if (cost := self._cost(messages)) <= room:
                    break
            else:
                return kept
            room -= cost
            kept[number] = cleaned(round_, limit, self.lost)
            if self.policy == "successor" and any(isinstance(block, Compaction) for block in round_.blocks()):
                return kept
        return kept

    def _brief(self, budget: int, kept: Sequence[int]) -> str:
        packer = Packer(Prompt(), self.count, budget, self.loaded.state, self._envelopes(1))
        filled: Filled = brief(self.loaded, packer, self.policy, kept)
        return packer.spell(account_of(self.request, [self.loaded.scope], [filled], self.loaded.redactor, len(kept)))

    # -- what it costs

    def _cost(self, messages: Iterable[Message]) -> int:
        blocks = [block for message in messages for block in message.blocks]
        return self._envelopes(len(blocks)) + sum(self.count.cost(text) for block in blocks for text in spoken(block))

    def _envelopes(self, blocks: int) -> int:
        per_token = self.count.bytes_per_token or PARTS
        return int(blocks * BLOCK_TOKENS * per_token)

    def _facts(self, messages: list[Message]) -> Facts:
        old = self.loaded.facts()
        digest = hashlib.sha256(codec.encode([self.loaded.id, messages])).hexdigest()
        return Facts(
            session_id=str(uuid.uuid5(NAMESPACE, f"context:{digest}")),
            source=old.source,
            started=next((m.at for m in messages if m.at), old.started),
            ended=old.ended,
            model=old.model,
            cwd=old.cwd,
            first_cwd=old.first_cwd,
            branch=old.branch,
        )
