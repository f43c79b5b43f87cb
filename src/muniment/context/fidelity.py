"""A round at a chosen fidelity: whole, with long pieces cut, or what was said in a few lines.

A tool call and its result are one block and come together or not at all: where room is short, long inputs and outputs
are cut with a mark that tells how much is missing of which block, and then tool calls are left out whole, and
counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from muniment.context import slices
from muniment.context.harvest import Said
from muniment.context.parts import Fidelity, Part, Quote, Quoted
from muniment.context.places import fields
from muniment.model import Block, Compaction, Event, Media, Message, Round, Text, Thinking, Tool, Unknown

WHOLE = 1 << 40


class Level(Struct, frozen=True):
    """How many characters of what; 0 leaves it out."""

    fidelity: Fidelity
    said: int
    """Of each text of a person, and of the agent's last answer."""
    remarks: int
    """Of what the agent said on the way."""
    given: int
    """Of each member of a tool's input."""
    came: int
    """Of a tool's output."""
    thinking: int = 0
    events: int = 0


LEVELS = (
    Level("full", WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE),
    Level("clipped", WHOLE, WHOLE, 1500, 2500, 0, 1000),
    Level("clipped", 8000, 1500, 500, 800, 0, 300),
    Level("clipped", 4000, 500, 160, 240),
    Level("clipped", 3000, 300, 0, 0),
    Level("clipped", 1500, 0, 0, 0),
)
"""From everything to prompt and answer; what is still shorter is a gist."""


def round_parts(session_id: str, round_: Round, level: Level, about: str) -> list[Part]:
    """A round at a level: its heading, its blocks, and how many tool calls were left out."""
    shown: list[Part] = []
    left_out: dict[str, int] = {}
    last = _last_act(round_)
    for number, message, block in _numbered(round_):
        quoted = Quoted(session_id, round_.number, number, block)
        part = None if message.sidechain else _block(quoted, message, level, number > last)
        if part:
            shown.append(part)
        elif not message.sidechain and (kind := _kind(block)):
            left_out[kind] = left_out.get(kind, 0) + 1
    mark = ", ".join(f"{count} {kind}" for kind, count in left_out.items())
    head = Part("rounds", f"{level.fidelity}", session_id, round_.number, note=about, mark=mark, block=True)
    return [head, *shown]


def _numbered(round_: Round) -> Iterator[tuple[int, Message, Block]]:
    number = 0
    for message in round_.messages:
        for block in message.blocks:
            yield number, message, block
            number += 1


def _last_act(round_: Round) -> int:
    """The number of the last tool call: what the agent says behind it is its answer."""
    acts = [n for n, m, b in _numbered(round_) if isinstance(b, Tool) and b.name and not m.sidechain]
    return acts[-1] if acts else -1


def _kind(block: Block) -> str:
    """What a block that is left out is counted as; quiet events are not."""
    match block:
        case Tool():
            return "tool calls"
        case Thinking():
            return "thinking"
        case Media():
            return "images"
        case Text():
            return "remarks"
        case Event(_, text):
            return "events" if text else ""
        case Compaction():
            return "summaries"
        case Unknown():
            return "unknown"


def _block(quoted: Quoted, message: Message, level: Level, answers: bool) -> Part | None:
    block = quoted.block
    match block:
        case Text():
            limit = level.said if message.role == "user" or answers else level.remarks
            return _written(quoted, message.role, limit)
        case Compaction():
            return _written(quoted, "summary", level.said)
        case Thinking():
            return _written(quoted, "thinking", level.thinking)
        case Event(kind, text):
            return _written(quoted, f"event {slices.one_word(kind)}", level.events) if text else None
        case Tool():
            return _tool(quoted, block, level) if level.came else None
        case Unknown():
            return _written(quoted, "unknown", level.events)
        case Media():
            return None


def _written(quoted: Quoted, label: str, limit: int) -> Part | None:
    if not limit:
        return None
    quotes, missing = _cut(quoted, "text", limit)
    return _part(quoted, label, quotes, missing) if quotes else None


def _tool(quoted: Quoted, tool: Tool, level: Level) -> Part:
    """Call and result."""
    quotes: list[Quote] = []
    missing = 0
    for field, _ in fields(tool):
        limit = level.came if field.startswith("output/") else level.given
        cut, gone = _cut(quoted, field, limit)
        quotes += cut
        missing += gone
    state = "no result was recorded" if tool.output is None else "failed" if tool.is_error else ""
    images = sum(isinstance(part, Media) for part in tool.output or ())
    state = ", ".join(filter(None, (state, f"{images} images" if images else "")))
    return _part(quoted, f"tool {slices.one_word(tool.name or 'result')}", quotes, missing, state)


def _part(quoted: Quoted, label: str, quotes: list[Quote], missing: int, note: str = "") -> Part:
    where = f"{quoted.round}.{quoted.number}"
    mark = f"{missing} bytes left out of {where}" if missing else ""
    return Part("rounds", label, quoted.session_id, quoted.round, tuple(quotes), note, mark, block=True)


def _cut(quoted: Quoted, field: str, limit: int) -> tuple[list[Quote], int]:
    """Beginning and end of a field, and how many bytes are missing between them."""
    text = dict(fields(quoted.block))[field]
    quotes = [quoted.quote(field, text, *span) for span in slices.ends(text, limit)]
    whole = quotes[0].place.of if quotes else 0
    return quotes, whole - sum(q.place.end - q.place.start for q in quotes)


# -- in a few lines


def gist(said: Said, label: str, limit: int) -> Part | None:
    """What one side said in a round: its most telling sentences, each on one line."""
    quotes: list[Quote] = []
    room = limit
    for quoted, text in said.texts:
        for start, end in slices.best(text, room, asks=label == "user"):
            quotes.append(quoted.quote("text", text, start, end))
            room -= end - start
        if room < 40:
            break
    if not quotes:
        return None
    return Part("said", label, quotes[0].place.session_id, said.round, tuple(quotes))
