"""The door to a model: one question, one reply. Each kind of server has one class behind it."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from muniment.errors import MunimentError, NotFound
from muniment.ingest.models.answer import one_line
from muniment.ingest.models.prompt import Prompt


class Reply(Struct, frozen=True):
    """What a model said, and what it cost."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    stop: str = ""
    """`refusal` if it would not, `length` if it was cut off, else empty."""


class Client(Protocol):
    """One model on one server."""

    def ask(self, prompt: Prompt) -> Reply:
        """Raises Unanswered for this question, MunimentError where every question would fail."""
        ...

    def close(self) -> None:
        """Give back connections."""
        ...


class Unanswered(Exception):
    """A question got no reply, after all retries; another one may."""

    def __init__(self, reason: str, *, perhaps_paid: bool = False) -> None:
        super().__init__(reason)
        self.perhaps_paid = perhaps_paid
        """The server may have worked on it, and ask for money."""


def failure(status: int, said: str, where: str, model: str) -> MunimentError | Unanswered:
    """What an HTTP status means for the run. `said` is the server's own word, without the key."""
    word = one_line(said, "sentence")
    told = f" ({word})" if word else ""
    if status in (401, 403):
        return MunimentError(f"{where} refuses the key: status {status}{told}", "is it the right key for this server?")
    if status == 402:
        return MunimentError(f"{where} wants to be paid first{told}", "look at the account that the key belongs to")
    if status == 404:
        return NotFound(f"{where} knows no model {model!r}{told}", "name another as KIND:MODEL, or check the address")
    return Unanswered(f"the server answered with status {status}{told}")
