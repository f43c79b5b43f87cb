"""Tool calls of one agent under the names and ids that another takes, and an account of what was renamed.

A result whose call stands elsewhere, or nowhere, gets one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct, structs

from muniment.model import Block, Message, Round, Tool
from muniment.sources.call_ids import CallIds
from muniment.sources.foreign import begun
from muniment.sources.tools import SharedTool, own_words, plain_words

_UNKNOWN = "unknown"
_UNASKED = "a result without its call"
_NO_TOOL = "no tool here is known to be the same"
_NO_INPUT = "the tool here is not asked in this way"


class Named(Struct, frozen=True):
    """Calls of one tool, and the name they have in what was written."""

    tool: str
    becomes: str
    """The same name where they were kept as they are."""
    count: int
    why: str = ""
    """Why they were kept."""


class Renaming:
    """One session on its way from the tools of one agent to those of another."""

    def __init__(self, ours: Sequence[SharedTool], theirs: Sequence[SharedTool], folder: str | None) -> None:
        self.ours, self.theirs = ours, [tool for tool in theirs if tool.written]
        self.folder = folder
        self.ids = CallIds()
        self.open: dict[str, tuple[str, Any]] = {}
        """Calls without a result so far, as they were told."""
        self.counted: Counter[tuple[str, str, str]] = Counter()

    def session(self, rounds: Iterable[Round]) -> Iterator[Round]:
        """A whole session as the other agent takes it, which wants it begun by the person."""
        return begun(self.rounds(rounds)) if self.theirs else iter(rounds)

    def rounds(self, rounds: Iterable[Round]) -> Iterator[Round]:
        """The same rounds with the other's tools; a format that belongs to no agent has none."""
        if not self.theirs:
            return iter(rounds)
        return (structs.replace(round_, messages=tuple(self._messages(round_))) for round_ in rounds)

    def account(self) -> tuple[Named, ...]:
        """What became of the calls so far, the most frequent first."""
        told = sorted(self.counted.items(), key=lambda item: (bool(item[0][2]), -item[1], item[0]))
        return tuple(Named(tool, becomes, count, why) for (tool, becomes, why), count in told)

    def _messages(self, round_: Round) -> Iterator[Message]:
        for message in round_.messages:
            self.folder = message.cwd or self.folder
            if message.sidechain or not any(isinstance(block, Tool) for block in message.blocks):
                yield message
                continue
            blocks = tuple(map(self._block, message.blocks))
            calls = tuple(block for block in blocks if isinstance(block, Tool) and block.name is not None)
            if message.role == "user" and calls:  # only an agent calls
                yield structs.replace(message, blocks=tuple(block for block in blocks if block not in calls))
                yield Message("assistant", blocks=calls, at=message.at)
            else:
                yield structs.replace(message, blocks=blocks)

    def _block(self, block: Block) -> Block:
        if not isinstance(block, Tool):
            return block
        if block.name is None:
            return self._asked_for(block)
        name, given, why = self._renamed(block.name, block.input)
        self.counted[block.name, name, why] += 1
        if block.output is None:
            self.open[block.id] = (name, given)
        return self.ids.of(block if why else structs.replace(block, name=name, input=given))

    def _asked_for(self, result: Tool) -> Tool:
        """A result that stands apart from its call, with a call: no model takes an answer to what it did not ask.

        If the call was told before, without a result, it is told again."""
        name, given = self.open.pop(result.id, (_UNKNOWN, {}))
        if name == _UNKNOWN:
            self.counted[_UNASKED, _UNKNOWN, ""] += 1
        return self.ids.of(structs.replace(result, name=name, input=given))

    def _renamed(self, name: str, given: Any) -> tuple[str, Any, str]:
        """Name and input of the same call of the other agent, else its own and the reason."""
        ours = [tool for tool in self.ours if tool.name == name]
        theirs = [tool for tool in self.theirs if any(tool.kind is own.kind for own in ours)]
        for own in ours:
            said = plain_words(own, given, self.folder)
            for other in theirs if said is not None else ():
                made = own_words(other, said, self.folder) if other.kind is own.kind and said is not None else None
                if made is not None:
                    return other.name, made, ""
        return name, given, _NO_INPUT if theirs else _NO_TOOL
