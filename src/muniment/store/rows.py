"""What the index says about a round: pure functions from rounds to rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from muniment.model import Compaction, Event, Media, Round, Text, Thinking, Tool, Unknown, codec
from muniment.model.rounds import Usage, text_of
from muniment.model.words import shortened
from muniment.store.words import indexed

PREVIEW_CHARS = 120
_MOST = 1 << 53


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
    """Below the folder of its session; in `sessions.db`, below that of all sessions."""


Place = tuple[int, str, str | None, str | None, int]
"""Of a text: its round, its kind, the tool, the subagent file (None for the main file), the offset of its record."""

Words = tuple[bytes, str]
"""What can be searched for, and what the tokenizer would miss. In UTF-8: made once, the words cross the border between
processes and go into SQLite as they are."""

TextRow = tuple[Place, Words]
"""Searchable text of one block. A plain tuple, because there are many: a class of its own costs three times as much
on the way to the other process."""


UsageRow = tuple[str | None, int, str | None, str | None, str | None, int, int, int, int]
"""Tokens of one API message: its id, round, subagent file, model and time, then input, output, cache read and written.
"""


class Span(Struct, frozen=True):
    """Records that follow each other in both states, and how much further back they now begin."""

    start: int = 0
    end: int = 0
    moved: int = 0

    def has(self, offset: int) -> bool:
        """Whether a record of the later state is one of them."""
        return self.start <= offset - self.moved < self.end


NOTHING = Span()


def count(number: int) -> int:
    """A number as SQLite can hold it and add up: what a file says may be any."""
    return max(-_MOST, min(number, _MOST))


def preview(text: str) -> str:
    """The first words on one line, safe to store anywhere; where some were cut off, a sign says so."""
    words = " ".join(text[: PREVIEW_CHARS * 4].split())
    return storable(shortened(words if len(text) <= PREVIEW_CHARS * 4 else f"{words}…", PREVIEW_CHARS)).decode()


def storable(text: str) -> bytes:
    """Text as SQLite can hold it: no NUL, no lone surrogate."""
    data = text.encode("utf-8", "replace")
    return data.replace(b"\0", b" ") if b"\0" in data else data


def fit(text: str | None) -> str | None:
    """A name as SQLite can hold it. Lone surrogates are written out, so that different names stay different."""
    return text if text is None or text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def bound(values: Iterable[Any]) -> list[Any]:
    """What a query is given. Any of it may come out of a foreign file, and is looked up as it was put in."""
    return [fit(value) if isinstance(value, str) else value for value in values]


def round_row(round_: Round, session_id: str, round_file: str, engagement_id: str | None = None) -> RoundRow:
    """The row of a round."""
    prompt, thinking = round_.prompt, round_.of(Thinking)
    answers = (text_of(m) for m in round_.messages if m.role == "assistant" and not m.sidechain)
    return RoundRow(
        session_id,
        round_.number,
        fit(round_.started),
        engagement_id,
        preview(text_of(prompt)) if prompt else "",
        preview(next((answer for answer in answers if answer.strip()), "")),
        len([tool for tool in round_.of(Tool) if tool.name]),
        len(thinking),
        sum(len(b.text) for b in thinking),
        count(round_.token_count),
        round_file,
    )


_SPOKEN = {Thinking: "thinking", Compaction: "compaction", Event: "event"}
"""Blocks that are found by their text, and as what. The text of a message is found as its speaker's."""


def placed(round_: Round, sidechain: str | None = None) -> Iterator[tuple[Place, str]]:
    """Everything that can be searched for in a round: each text and its place."""
    number, side = round_.number, fit(sidechain)
    for message in round_.messages:
        for block in message.blocks:
            if type(block) is Tool:
                tool = fit(block.name)
                if tool:
                    yield (number, "tool", tool, side, block.ref.offset), input_text(block)
                if block.result:
                    yield (number, "result", tool, side, block.result.offset), _output_text(block)
            elif type(block) is Text:
                yield (number, message.role, None, side, block.ref.offset), block.text
            elif isinstance(block, (Thinking, Compaction, Event)) and block.text:
                yield (number, _SPOKEN[type(block)], None, side, block.ref.offset), block.text


def words_in(text: str) -> Words | None:
    """What can be searched for in a text; None in one that is blank."""
    return indexed(storable(text)) if text and not text.isspace() else None


def input_text(tool: Tool) -> str:
    """What was asked of a tool, as words: strings as they are, the rest as JSON."""
    if isinstance(tool.input, dict):
        values: list[object] = list(tool.input.values())  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        return "\n".join([_words_of(value) for value in values])
    return _words_of(tool.input)


def _words_of(value: object) -> str:
    return value if isinstance(value, str) else codec.encode(value).decode()


def _output_text(tool: Tool) -> str:
    parts = tool.output or ()
    return "\n".join([part.text if isinstance(part, Text) else "\n".join(_strings_in(part)) for part in parts])


def _strings_in(part: Media | Unknown) -> Iterator[str]:
    """The words of a result that is kept as it came, such as titles and addresses of a web search. What a service
    encrypted for itself is none."""
    if isinstance(part, Unknown) and part.kind != "media":
        yield from codec.iter_strings(part.value, without="encrypted")


def usage_rows(round_: Round, sidechain: str | None) -> list[UsageRow]:
    """Tokens per API message of a round."""
    number, side = round_.number, fit(sidechain)
    return [(fit(m.id), number, side, fit(m.model), fit(m.at), *_tokens(m.usage)) for m in round_.messages if m.usage]


def _tokens(usage: Usage) -> tuple[int, int, int, int]:
    return count(usage.input), count(usage.output), count(usage.cache_read), count(usage.cache_write)
