"""What the index says about a round: pure functions from rounds to rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from muniment.model import Block, Compaction, Event, Message, Round, Text, Thinking, Tool, codec
from muniment.model.rounds import text_of
from muniment.store.words import indexed

PREVIEW_CHARS = 120


class RoundRow(NamedTuple):
    """One row of the specified table `rounds`."""

    session_id: str
    round: int
    started: str | None
    engagement_id: str | None
    user_preview: str
    agent_preview: str
    tool_count: int
    thinking_count: int
    thinking_chars: int
    token_count: int
    round_file: str


class TextRow(NamedTuple):
    """Searchable text of one block, and where its record lies."""

    round: int
    kind: str
    tool: str | None
    sidechain: str | None
    """The subagent file it comes from; None for the main file."""
    offset: int
    body: bytes
    """The words in UTF-8: made once here, they cross the border between processes and go into SQLite as they are."""
    aux: str


class UsageRow(NamedTuple):
    """Tokens of one API message."""

    message_id: str | None
    round: int
    sidechain: str | None
    model: str | None
    at: str | None
    input: int
    output: int
    cache_read: int
    cache_write: int


class Span(Struct, frozen=True):
    """Records that follow each other in both states, and how much further back they now begin."""

    start: int = 0
    end: int = 0
    moved: int = 0

    def has(self, offset: int) -> bool:
        """Whether a record of the later state is one of them."""
        return self.start <= offset - self.moved < self.end


NOTHING = Span()


def preview(text: str) -> str:
    """The first words on one line, safe to store anywhere."""
    return storable(" ".join(text[: PREVIEW_CHARS * 4].split())[:PREVIEW_CHARS]).decode()


def storable(text: str) -> bytes:
    """Text as SQLite can hold it: no NUL, no lone surrogate."""
    data = text.encode("utf-8", "replace")
    return data.replace(b"\0", b" ") if b"\0" in data else data


def fit(text: str | None) -> str | None:
    """A name as SQLite can hold it. Lone surrogates are written out, so that different names stay different."""
    return text if text is None or text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def round_row(round_: Round, session_id: str, round_file: str, engagement_id: str | None = None) -> RoundRow:
    """The row of a round."""
    prompt = round_.prompt
    thinking = [b for b in round_.blocks() if isinstance(b, Thinking)]
    answers = (text_of(m) for m in round_.messages if m.role == "assistant" and not m.sidechain)
    return RoundRow(
        session_id,
        round_.number,
        fit(round_.started),
        engagement_id,
        preview(text_of(prompt)) if prompt else "",
        preview(next((answer for answer in answers if answer.strip()), "")),
        sum(1 for b in round_.blocks() if isinstance(b, Tool) and b.name),
        len(thinking),
        sum(len(b.text) for b in thinking),
        round_.token_count,
        round_file,
    )


def texts(round_: Round) -> Iterator[tuple[str, str | None, int, str]]:
    """Everything that can be searched for in a round: kind, tool, offset of the record, text."""
    for message in round_.messages:
        for block in message.blocks:
            yield from _texts(block, message)


def text_rows(round_: Round, sidechain: str | None, since: int) -> Iterator[TextRow]:
    """Searchable text from records at or behind byte `since`; what came before is indexed already."""
    for message in round_.messages:
        for block in message.blocks:
            for kind, tool, offset, text in _texts(block, message):
                if offset >= since and (body := storable(text)) and not body.isspace():
                    place = (round_.number, kind, fit(tool), fit(sidechain), offset)
                    yield TextRow(*place, *indexed(body))


def _texts(block: Block, message: Message) -> Iterator[tuple[str, str | None, int, str]]:
    match block:
        case Text(text):
            yield message.role, None, block.ref.offset, text
        case Thinking(text):
            yield "thinking", None, block.ref.offset, text
        case Tool():
            if block.name:
                yield "tool", block.name, block.ref.offset, input_text(block)
            if block.result:
                yield "result", block.name, block.result.offset, _output_text(block)
        case Compaction(text):
            yield "compaction", None, block.ref.offset, text
        case Event(_, text):
            yield "event", None, block.ref.offset, text
        case _:
            return


def input_text(tool: Tool) -> str:
    """What was asked of a tool, as words: strings as they are, the rest as JSON."""
    if isinstance(tool.input, dict):
        values: list[object] = list(tool.input.values())  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        return "\n".join([_words_of(value) for value in values])
    return _words_of(tool.input)


def _words_of(value: object) -> str:
    return value if isinstance(value, str) else codec.encode(value).decode()


def _output_text(tool: Tool) -> str:
    return "\n".join([part.text for part in tool.output or () if isinstance(part, Text)])


def usage_rows(round_: Round, sidechain: str | None) -> Iterator[UsageRow]:
    """Tokens per API message of a round."""
    for message in round_.messages:
        if message.usage:
            u = message.usage
            yield UsageRow(
                fit(message.id),
                round_.number,
                fit(sidechain),
                fit(message.model),
                fit(message.at),
                u.input,
                u.output,
                u.cache_read,
                u.cache_write,
            )
