"""Messages of the past as another session can hold them.

A tool call comes with its result or not at all; thinking, images, events and subagents stay in the archive and are
counted. Messages of one speaker that follow each other are put together, so that the speakers alternate.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from msgspec import structs

from muniment.context.slices import ends
from muniment.model import Block, Message, Round, Text, Tool, codec
from muniment.model.rounds import Role

_SOUND_ID = re.compile("[A-Za-z0-9_-]{1,64}")


def words(role: Role, text: str) -> Message:
    """A message that is one text."""
    return Message(role=role, blocks=(Text(text),))


def spoken(block: Block) -> Iterable[str]:
    """The texts of a block that a model reads."""
    if isinstance(block, Text):
        yield block.text
    elif isinstance(block, Tool):
        yield block.name or ""
        yield codec.encode(block.input).decode()
        yield from (part.text for part in block.output or () if isinstance(part, Text))


def cleaned(round_: Round, limit: int | None, lost: Counter[str]) -> list[Message]:
    """The messages of a round with nothing that another session could not hold; what is left out is counted."""
    made: list[Message] = []
    for message in round_.messages:
        if message.sidechain:
            lost["message of a subagent"] += 1
            continue
        blocks = tuple(block for old in message.blocks if (block := _block(old, limit, lost)))
        if blocks:
            made.append(Message(role=message.role, at=message.at, blocks=blocks, model=message.model))
    return made


def _block(block: Block, limit: int | None, lost: Counter[str]) -> Block | None:
    match block:
        case Text(text) if text.strip():
            return Text(text)
        case Tool() if block.name and block.output is not None:
            return Tool(block.id, block.name, _object(block.input), (Text(_output(block, limit)),), block.is_error)
        case Tool():
            lost["tool call without a result, or result without its call"] += 1
        case Text():
            pass
        case _:
            lost[type(block).__name__.lower()] += 1
    return None


def _object(value: Any) -> Any:
    """Agents take an object for the input of a tool, and nothing else."""
    return value if isinstance(value, dict) else {"input": value}  # pyright: ignore[reportUnknownVariableType]


def _output(tool: Tool, limit: int | None) -> str:
    """What a tool gave back, cut in the middle with a mark; what is no text is named."""
    parts = tool.output or ()
    text = "\n".join(p.text if isinstance(p, Text) else f"[{type(p).__name__.lower()} left out]" for p in parts)
    if limit is None or len(text) <= limit:
        return text
    first, last = ends(text, limit)
    mark = f"[… {len(text) - limit} characters left out; the whole is in the archive …]"
    return f"{text[slice(*first)]}\n{mark}\n{text[slice(*last)]}"


def alternating(messages: Iterable[Message]) -> list[Message]:
    """Messages of one speaker that follow each other as one; results of tools are the other side's turn."""
    made: list[Message] = []
    for message in messages:
        last = made[-1] if made else None
        if last and last.role == message.role and not any(isinstance(block, Tool) for block in last.blocks):
            made[-1] = structs.replace(
                last, blocks=last.blocks + message.blocks, at=last.at or message.at, model=last.model or message.model
            )
        else:
            made.append(message)
    return made


def with_sound_ids(messages: Iterable[Message]) -> list[Message]:
    """Every tool call with an id that any agent takes and no other has: some agents count anew in each answer."""
    seen: set[str] = set()

    def sound(block: Block) -> Block:
        if not isinstance(block, Tool):
            return block
        minted = (f"call_{number}" for number in itertools.count(len(seen)))
        known = [block.id] if block.id and _SOUND_ID.fullmatch(block.id) else []
        id_ = next(id_ for id_ in itertools.chain(known, minted) if id_ not in seen)
        seen.add(id_)
        return structs.replace(block, id=id_)

    return [structs.replace(message, blocks=tuple(map(sound, message.blocks))) for message in messages]


def rounds_of(messages: Iterable[Message]) -> list[Round]:
    """Every human message begins a round."""
    rounds: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or not rounds:
            rounds.append([])
        rounds[-1].append(message)
    return [Round(number, tuple(own), own[0].role == "user") for number, own in enumerate(rounds, 1)]
