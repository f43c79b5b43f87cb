"""A pack as a session that an agent resumes: what is told in short, as data in the first prompt, then rounds as they
were.

The session is new: it has an id of its own, made from its content, and ids of records are minted from that. A tool
call comes with its result or not at all; thinking, images, events and subagents stay in the archive and are counted.
Messages of one speaker that follow each other are put together, so that the speakers alternate. What came before a
compaction was no longer before the agent's eyes: such rounds are told in short, together with the summary.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from muniment import files, sources
from muniment.context.filling import Filled, within
from muniment.context.loading import Loaded
from muniment.context.pack import Request, account_of, open_sessions
from muniment.context.packing import Packer
from muniment.context.policies import Policy, brief
from muniment.context.slices import ends
from muniment.context.spelling import Prompt
from muniment.context.tokens import PARTS, Count, counting
from muniment.errors import Conflict, NotFound, Unsupported
from muniment.model import Block, Compaction, Facts, Loss, Message, Round, Text, Tool, codec
from muniment.restore import inside
from muniment.sources.base import NAMESPACE, Move, Source
from muniment.store.layout import Layout

BRIEF_SHARE = 0.4
BLOCK_TOKENS = 16
"""What an envelope around a block costs a model."""
OUTPUTS: tuple[int | None, ...] = (None, 4000, 1000, 300)
"""To how many characters outputs are cut, until a round fits; None leaves them whole."""


class Target(Struct, frozen=True):
    """Where a session is written to."""

    source: str
    """Name of a source, or of its family of agents."""
    to: Path | None = None
    """A folder in place of the agent's home."""
    file: Path | None = None
    cwd: str | None = None
    force: bool = False


class Made(Struct, frozen=True):
    """A session that was written."""

    path: str
    session_id: str
    tokens: int
    rounds: tuple[int, ...]
    """Those that are there as they were, by their numbers in the archive."""
    losses: tuple[Loss, ...]
    resume: str


def writable(name: str) -> Source | None:
    """The source with this name, or of this family, if it can be written."""
    known = sources.all_sources()
    found = [s for s in known if s.name == name] or [s for s in known if s.family == name]
    return found[0] if len(found) == 1 and found[0].writable else None


def write(layout: Layout, request: Request, target: Target, env: Mapping[str, str]) -> Made:
    """Write the latest session of the selection as a new one. The store is only read."""
    source = writable(target.source)
    if source is None:
        raise Unsupported(f"{target.source} sessions cannot be written", "`muniment sources` tells which can")
    loaded = open_sessions(layout, request)[0]
    composed = _Composer(loaded, request).compose()
    lines = list(source.write(composed.rounds, composed.facts, Move(cwd=target.cwd), _no_media, composed.losses))
    base = target.to.absolute() if target.to else source.homes(env)[0]
    path = target.file.absolute() if target.file else inside(base, source.place(composed.facts, Move(cwd=target.cwd)))
    put(path, b"".join(lines), target.force)
    resume = source.resuming(composed.facts.session_id, str(path))
    return Made(str(path), composed.facts.session_id, composed.tokens, composed.kept, tuple(composed.losses), resume)


def put(path: Path, data: bytes, force: bool) -> None:
    """Write a file; one that is there and differs is replaced only if that was asked for."""
    if path.exists() and not force and path.read_bytes() != data:
        raise Conflict(f"{path} exists and differs", "nothing was written; --force replaces it, -o writes elsewhere")
    files.make_folder(path.parent)
    files.write_atomic(path, [data])


def _no_media(name: str) -> bytes:
    raise NotFound(f"{name}: images are not carried")


class _Composed(Struct):
    """A session on its way."""

    rounds: list[Round]
    facts: Facts
    kept: tuple[int, ...]
    tokens: int
    losses: list[Loss]


class _Composer:
    """Chooses rounds against the budget, and makes messages of them."""

    def __init__(self, loaded: Loaded, request: Request) -> None:
        self.loaded, self.request = loaded, request
        self.policy: Policy = request.chosen
        self.count: Count = counting(request.bytes_per_token)
        self.lost: Counter[str] = Counter()

    def compose(self) -> _Composed:
        allowed = self.count.allowed(self.request.budget)
        short = max(int(self.request.budget * BRIEF_SHARE), 1)
        kept = self._kept(allowed - self.count.allowed(short))
        spent = sum(self._cost(messages) for messages in kept.values())
        told = self._brief(min(short, self.count.tokens(allowed - spent)), sorted(kept))
        spent += self.count.cost(told) + self._envelopes(1)
        assert spent <= allowed, "a session must not cost more than it may"
        messages = _alternating([_words("user", told), *(m for number in sorted(kept) for m in kept[number])])
        facts = self._facts(messages)
        losses = [Loss("context", what, "stays in the archive", n) for what, n in sorted(self.lost.items())]
        return _Composed(_rounds(messages), facts, tuple(sorted(kept)), self.count.tokens(spent), losses)

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
                messages = _cleaned(round_, limit, Counter())
                if (cost := self._cost(messages)) <= room:
                    break
            else:
                return kept
            room -= cost
            kept[number] = _cleaned(round_, limit, self.lost)
            if self.policy == "successor" and any(isinstance(block, Compaction) for block in round_.blocks()):
                return kept
        return kept

    def _brief(self, budget: int, kept: Sequence[int]) -> str:
        packer = Packer(Prompt(), self.count, budget, self.loaded.state)
        filled: Filled = brief(self.loaded, packer, self.policy, kept)
        return packer.spell(account_of(self.request, [self.loaded.scope], [filled], self.loaded.redactor, len(kept)))

    # -- what it costs

    def _cost(self, messages: Iterable[Message]) -> int:
        blocks = [block for message in messages for block in message.blocks]
        return self._envelopes(len(blocks)) + sum(self.count.cost(text) for block in blocks for text in _spoken(block))

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


# -- messages


def _words(role: str, text: str) -> Message:
    return Message(role="user" if role == "user" else "assistant", blocks=(Text(text),))


def _spoken(block: Block) -> Iterable[str]:
    if isinstance(block, Text):
        yield block.text
    elif isinstance(block, Tool):
        yield block.name or ""
        yield codec.encode(block.input).decode()
        yield from (part.text for part in block.output or () if isinstance(part, Text))


def _cleaned(round_: Round, limit: int | None, lost: Counter[str]) -> list[Message]:
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


def _alternating(messages: Iterable[Message]) -> list[Message]:
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


def _rounds(messages: Iterable[Message]) -> list[Round]:
    """Every human message begins a round."""
    rounds: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or not rounds:
            rounds.append([])
        rounds[-1].append(message)
    return [Round(number, tuple(own), own[0].role == "user") for number, own in enumerate(rounds, 1)]
