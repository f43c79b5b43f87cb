"""Sessions that never reached substantive work: recorded, and not extracted."""

from __future__ import annotations

from muniment.ingest.skeleton import Skeleton
from muniment.model import Facts

MARKER = "muniment: extract engagements"
"""How our own questions to a model begin. An agent that passes one on leaves a session of it, which is no work."""
MIN_PROMPTS = 3
MIN_TOOL_CALLS = 10


def is_ghost(facts: Facts, strict: bool = False) -> bool:
    """Fewer than three prompts; a one-shot run with ten tool calls is work all the same, unless the rule is strict."""
    return facts.prompts < MIN_PROMPTS and (strict or facts.tool_calls < MIN_TOOL_CALLS)


def is_own(session: Skeleton) -> bool:
    """Whether a session is nothing but a question of this program."""
    return bool(session.turns) and session.turns[0].user.lstrip().startswith(MARKER)
