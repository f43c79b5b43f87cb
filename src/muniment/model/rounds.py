"""Messages and rounds.

A round is one human prompt and everything the agent did until the next. In memory it is a list of messages;
`store.rounds` writes it in the shape that the specification asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeVar, cast

from msgspec import Struct

from muniment.model.blocks import Block, Text, Unknown, is_quiet
from muniment.model.problems import Problem

Role = Literal["user", "assistant"]
B = TypeVar("B", bound=Block)


class Usage(Struct, frozen=True, omit_defaults=True, gc=False):
    """Tokens of one API message in one convention: `input` is what was not cached, `output` includes reasoning."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


class Message(Struct, frozen=True, omit_defaults=True, gc=False):
    """One speaker's turn."""

    role: Role
    at: str | None = None
    """Time of its first record, as the source wrote it."""
    blocks: tuple[Block, ...] = ()
    id: str | None = None
    """The API's message id, where there is one."""
    model: str | None = None
    sidechain: str | None = None
    """Set on messages of a subagent that an old source wrote into the main file."""
    queued: bool = False
    """Human text that arrived while the agent worked: steering inside a round."""
    usage: Usage | None = None
    raw: Any = None
    """What the API said beside the content (usage, stop reason, request id), as recorded."""
    cwd: str | None = None
    """Working folder, where it changed with this message."""
    branch: str | None = None
    """Git branch, where it changed with this message."""
    client: str | None = None
    """Version of the agent program, where it changed with this message."""

    @property
    def silent(self) -> bool:
        """Only quiet events of a session that has no conversation: neither counted nor shown."""
        return self.id is None and self.role == "assistant" and all(is_quiet(block) for block in self.blocks)


class Round(Struct, frozen=True, omit_defaults=True):
    """One human prompt and what followed from it."""

    number: int
    messages: tuple[Message, ...] = ()
    prompted: bool = False
    """Whether a human prompt opened it; its message is then the first one that is neither queued nor sidechain."""
    parent: str | None = None
    """Record that the prompt follows, as the source says; one outside the round before it shows a rewind."""
    offset: int = 0
    """First byte of its first record in the evidence."""
    media: dict[str, bytes] = {}  # msgspec copies mutable defaults
    """Bytes of the media it brings; in memory only."""
    continued: bool = False
    """Whether the next round is its continuation: it grew too large to be held in memory as one."""

    @property
    def prompt(self) -> Message | None:
        """The human message that opened the round."""
        if not self.prompted:
            return None
        return next((m for m in self.messages if m.role == "user" and not m.sidechain and not m.queued), None)

    @property
    def started(self) -> str | None:
        """Time of the prompt, else of the first message that has one."""
        prompt = self.prompt
        if prompt and prompt.at:
            return prompt.at
        return next((m.at for m in self.messages if m.at), None)

    @property
    def token_count(self) -> int:
        """Tokens of the round, each API message counted once."""
        return self.usage.total

    @property
    def usage(self) -> Usage:
        """Tokens of the round by kind, each API message counted once."""
        return sum((m.usage for m in self.messages if m.usage), Usage())

    def blocks(self) -> list[Block]:
        """All blocks in document order."""
        return [block for message in self.messages for block in message.blocks]

    def of(self, kind: type[B]) -> list[B]:
        """The blocks of one kind, in document order."""
        return cast("list[B]", [b for message in self.messages for b in message.blocks if type(b) is kind])

    def problems(self, path: str) -> Iterator[Problem]:
        """The damage met while reading it."""
        for block in self.of(Unknown):
            if block.damage:
                yield Problem(path, block.ref.offset, block.damage, block.ref.length)


def text_of(message: Message) -> str:
    """The words of a message, without thinking, tools and events."""
    return "\n\n".join([b.text for b in message.blocks if type(b) is Text])
