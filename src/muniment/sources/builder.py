"""Building rounds record by record: the part that all sources share.

A draft round collects messages; blocks that come before any message wait for the first one. A tool result
finds its call by id inside the round. Nothing here knows a format.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from msgspec import structs

from muniment.model import Block, Event, Media, Message, Ref, Round, Tool, Unknown, Usage
from muniment.sources import salvage
from muniment.sources.lines import Record

EXTENSIONS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/svg+xml": "svg",
    "application/pdf": "pdf",
    "text/plain": "txt",
    "audio/wav": "wav",
    "audio/mpeg": "mp3",
}


T = TypeVar("T")

_MEDIA_TYPE = re.compile(r"[\w.+/-]{1,100}")
"""Types that a document can name in a link."""


MAX_ROUND_BYTES = 8 << 20
"""From so many bytes of records on, a round is continued in another one at the next place where that is possible:
300 MB behind one prompt then take 91 MB of memory instead of 669 MB (docs/decisions/0019-rounds-without-end.md)."""


class Draft:
    """A message that may still grow."""

    __slots__ = ("added", "blocks", "fields", "parts", "raw", "role", "waited")

    def __init__(self, role: str, fields: dict[str, Any]) -> None:
        self.role = role
        self.fields = fields
        self.blocks: list[Block] = []
        self.waited: set[int] = set()
        """The offsets of records that came before any message, and stand in this one because it was the first."""
        self.added: set[int] = set()
        """The offsets of records that are no part of the message and stand in it because it was the last one."""
        self.raw: dict[str, Any] | None = None
        self.parts: dict[str, Any] = {}

    def frozen(self) -> Message:
        raw = self.raw
        if raw is not None and self.parts:
            raw = {**raw, "parts": self.parts}
        return Message(role=self.role, blocks=tuple(self.blocks), raw=raw, **self.fields)  # pyright: ignore[reportArgumentType]


def _last_own(drafts: list[Draft]) -> Draft | None:
    """Return the last message that is no inline subagent's."""
    return next((draft for draft in reversed(drafts) if not draft.fields.get("sidechain")), None)


class RoundBuilder:
    """One round being read."""

    def __init__(self, number: int, offset: int, continues: bool = False) -> None:
        self.number = number
        self.offset = offset
        self.continues = continues
        """Whether it goes on with the round before: the prompt of both stands there."""
        self.prompted = continues
        """Whether a prompt came: the next one begins another round."""
        self.parent: str | None = None
        self.drafts: list[Draft] = []
        self.by_id: dict[tuple[str, str | None], Draft] = {}
        self.waiting: list[Block] = []
        self.calls: dict[str, tuple[Draft, int]] = {}
        self.unanswered: set[str] = set()
        """Calls whose results may still come."""
        self.alone: dict[str, Tool] = {}
        """Results without a call so far."""
        self.ids: set[str] = set()
        self.media: dict[str, bytes] = {}

    def message(self, role: str, **fields: Any) -> Draft:
        """Begin a message; what waited for one becomes its first blocks."""
        draft = Draft(role, fields)
        if self.waiting and not fields.get("sidechain"):
            draft.blocks, self.waiting = self.waiting, []
            draft.waited = {block.ref.offset for block in draft.blocks}
        self.drafts.append(draft)
        return draft

    def answer(self, key: str, sidechain: str | None, **fields: Any) -> Draft:
        """The assistant message with this id, begun if it is new."""
        draft = self.by_id.get((key, sidechain))
        if draft is None:
            draft = self.message("assistant", sidechain=sidechain, **fields)
            self.by_id[key, sidechain] = draft
        return draft

    def insert(self, draft: Draft, behind: Draft | None, offset: int) -> None:
        """Insert a message that began at `offset`, before it could be told; behind none, it is the first.

        What was added to the message before it since then goes to it, as it would have gone at once."""
        at = self.drafts.index(behind) + 1 if behind else 0
        before = _last_own(self.drafts[:at])
        self.drafts.insert(at, draft)
        if before is None:
            self._take_what_waited(draft, offset)
            return
        draft.added = {place for place in before.added if place > offset}
        draft.blocks += [block for block in before.blocks if block.ref.offset in draft.added]
        self._rearrange(before, [block for block in before.blocks if block.ref.offset not in draft.added])
        before.added -= draft.added

    def _take_what_waited(self, draft: Draft, offset: int) -> None:
        """Give the first message what was there before it: it waited for a message, or went to the one that came."""
        follower = _last_own([other for other in reversed(self.drafts) if other is not draft])
        waited = self.waiting
        if follower:
            waited = [block for block in follower.blocks if block.ref.offset in follower.waited]
            self._rearrange(follower, [block for block in follower.blocks if block.ref.offset not in follower.waited])
            follower.waited = set()
        self.waiting = []
        draft.waited = {block.ref.offset for block in waited if block.ref.offset < offset}
        draft.added = {block.ref.offset for block in waited if block.ref.offset > offset}
        draft.blocks = sorted([*draft.blocks, *waited], key=lambda block: block.ref.offset)

    def withdraw(self, draft: Draft, said: Block) -> None:
        """What was said in a message of its own stands elsewhere; the rest goes where it would be without it."""
        at = self.drafts.index(draft)
        del self.drafts[at]
        rest = [block for block in draft.blocks if block is not said]
        if at:
            before = self.drafts[at - 1]
            before.added |= draft.added
            self._rearrange(before, sorted([*before.blocks, *rest], key=lambda block: block.ref.offset))
        else:
            self.waiting = [*rest, *self.waiting]

    def _rearrange(self, draft: Draft, blocks: list[Block]) -> None:
        """Replace the blocks of a message by some of them or more; results must still find their calls."""
        for id_, (owner, position) in list(self.calls.items()):
            if owner is draft:
                call = draft.blocks[position]
                self.calls[id_] = draft, next(n for n, block in enumerate(blocks) if block is call)
        draft.blocks = blocks

    def add(self, block: Block) -> None:
        """Put a block where the conversation stands, which is never inside of a subagent."""
        own = _last_own(self.drafts)
        (own.blocks if own else self.waiting).append(block)
        if own:
            own.added.add(block.ref.offset)

    def add_to_latest(self, block: Block) -> None:
        """Put a block into the message that began last, a subagent's too. For formats whose pieces name no message."""
        (self.drafts[-1].blocks if self.drafts else self.waiting).append(block)

    def call(self, draft: Draft, tool: Tool) -> None:
        """A tool call; its result will find it by id."""
        self.calls[tool.id] = (draft, len(draft.blocks))
        draft.blocks.append(tool)
        if tool.output is None:
            self.unanswered.add(tool.id)

    def result(self, tool_id: str, **fields: Any) -> Draft | None:
        """Join a result to its call; without one in this round, or with one answered already, it stands alone.

        Return the message that it stands in, if there is one yet."""
        draft, position = self.calls.get(tool_id, (None, 0))
        call = draft.blocks[position] if draft else None
        if draft and isinstance(call, Tool) and call.output is None:
            draft.blocks[position] = structs.replace(call, **fields)
            self.unanswered.discard(tool_id)
            return draft
        result = Tool(id=tool_id, ref=fields["result"], **fields)
        self.add(result)
        if draft is None:
            self.alone.setdefault(tool_id, result)
        return self.drafts[-1] if self.drafts else None

    def reunited(self, call: Tool) -> Tool:
        """A call with its result, if that was written first. For agents whose ids are never used again."""
        if call.id not in self.alone:
            return call
        result = self.alone.pop(call.id)
        places = (self.waiting, *(draft.blocks for draft in self.drafts), [result])  # the last, if it was taken out
        blocks = next(blocks for blocks in places if result in blocks)
        at = blocks.index(result)
        del blocks[at]
        calls = self.calls.items()
        self.calls = {id_: (draft, n - (draft.blocks is blocks and n > at)) for id_, (draft, n) in calls}
        fields = {"output": result.output, "is_error": result.is_error, "sidechain": result.sidechain}
        return structs.replace(call, result=result.result, **fields)

    def add_media(self, data: str, media_type: str, ref: Ref) -> Media | Unknown:
        """An image or document given as base64; kept as it came if decoding would not be exact."""
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            content = b""
        if not content or not _MEDIA_TYPE.fullmatch(media_type) or base64.b64encode(content).decode("ascii") != data:
            return Unknown(kind="media", value={"media_type": media_type, "data": data}, ref=ref)
        name = f"{hashlib.sha256(content).hexdigest()}.{EXTENSIONS.get(media_type, 'bin')}"
        self.media[name] = content
        return Media(name=name, media_type=media_type, ref=ref)

    def is_full(self, offset: int) -> bool:
        """Whether a record at `offset` may begin another round, so that none outgrows the memory and each append to an
        open round costs little. No result of an earlier call must come behind it."""
        return offset - self.offset > MAX_ROUND_BYTES and not (self.unanswered or self.alone or self.waiting)

    def close(self, continued: bool = False) -> Round:
        """The round as it stands."""
        if self.waiting:
            self.message("assistant", at=next((b.ref.at for b in self.waiting if b.ref.at), None))
        return Round(
            number=self.number,
            messages=tuple(draft.frozen() for draft in self.drafts),
            prompted=self.prompted and not self.continues,
            parent=self.parent,
            offset=self.offset,
            media=self.media,
            continued=continued,
        )


def quiet(kind: str, ref: Ref, detail: Any = None) -> Event:
    """An event that is counted in the document and not shown."""
    return Event(kind=kind, detail=detail, ref=ref)


def add_usage(draft: Draft, usage: Usage) -> None:
    """Usage of a message; later parts of the same message report the larger, final figures."""
    known = draft.fields.get("usage")
    if known is None or usage.total >= known.total:
        draft.fields["usage"] = usage


def count(said: dict[str, Any], name: str) -> int:
    """A number of tokens; anything else counts as none."""
    value = said.get(name)
    return value if type(value) is int and 0 <= value < 1 << 53 else 0


Line = TypeVar("Line", contravariant=True)


class Reader(Protocol[Line]):
    """Reads one record after the other into an open round."""

    def take(self, record: Record, line: Line, /) -> Round | None:
        """Read one record that holds this; gives the round that it closes, if it does."""
        ...

    def damaged(self, record: Record, what: str) -> None:
        """Keep the place of what cannot be read."""
        ...

    def close(self) -> Round:
        """The open round as it stands."""
        ...


def rounds_of(reader: Reader[T], lines: Iterable[Record], decode: Callable[[bytes], T]) -> Iterator[Round]:
    """The rounds of these records, the last one still open; a record that is not there in full is not yet there."""
    for record, line, what in salvage.told(lines, decode):
        if line is None:
            reader.damaged(record, what)
        elif closed := reader.take(record, line):
            yield closed
    yield reader.close()
