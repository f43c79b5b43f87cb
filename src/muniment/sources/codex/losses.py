"""What a rewritten session could not carry, alike things counted together."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from muniment.model import Event, Loss

_REWRITTEN = frozenset(
    {
        "session meta",
        "turn context",
        "task started",
        "task complete",
        "task completed",
        "turn started",
        "turn complete",
        "user message",
        "agent message",
        "agent reasoning",
        "token count",
        "token usage record",
        "item UserMessage",
        "item AgentMessage",
        "item Reasoning",
        "link",
        "title",
    }
)
"""Quiet events that are written anew from what the session itself says."""


class Losses:
    """The account of one conversion."""

    def __init__(self) -> None:
        self.number = 0
        """The round being written."""
        self.lost: dict[tuple[str, str], Loss] = {}
        self.quiet: dict[str, int] = {}

    def add(self, what: str, why: str) -> None:
        """Something was left out."""
        known = self.lost.get((what, why))
        now = structs.replace(known, count=known.count + 1) if known else Loss(f"round {self.number}", what, why)
        self.lost[what, why] = now

    def add_event(self, event: Event) -> None:
        """An event was left out; quiet ones are told in one sum."""
        if event.text:
            self.add(f"event: {event.kind}", "this format has no place for it")
        elif event.kind not in _REWRITTEN:
            self.quiet[event.kind] = self.quiet.get(event.kind, 0) + 1

    def all(self) -> Iterator[Loss]:
        """Everything that was left out."""
        yield from self.lost.values()
        if self.quiet:
            kinds = ", ".join(sorted(self.quiet))
            count = sum(self.quiet.values())
            yield Loss("around it", f"quiet events: {kinds}", "they say nothing to the conversation", count)
