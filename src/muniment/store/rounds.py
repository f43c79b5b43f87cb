"""Round files: one JSON file per round, in the shape the specification gives.

    {"round":3,"started":"…","engagement_id":null,"user":{…},"agent":[…],"token_count":812,"messages":[…]}

`user` is the prompt, `agent` every other block in order, typed. `messages` says which blocks belong to which
message, so that the round comes back whole. Engagement tags live in the index, never here.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from muniment import files
from muniment.errors import NotFound, StoreError
from muniment.model import Block, Message, Round, codec
from muniment.store.layout import Shelf


class Head(Message, frozen=True, omit_defaults=True):
    """A message without its blocks: they are the next `count` of `agent`, or those of `user`."""

    count: int = 0
    prompt: bool = False


class RoundFile(Struct, frozen=True):
    """What stands in `NNN.json`."""

    round: int
    started: str | None
    engagement_id: None
    user: Message | None
    agent: tuple[Block, ...]
    token_count: int
    messages: tuple[Head, ...] = ()
    parent: str | None = None
    offset: int = 0
    continued: bool | UnsetType = UNSET
    """Only in a round that the next one continues."""


_decoder = msgspec.json.Decoder(RoundFile)


def encode(round_: Round) -> bytes:
    """The bytes of a round's file."""
    prompt = round_.prompt
    heads: list[Head] = []
    blocks: list[Block] = []
    for message in round_.messages:
        if message is prompt:
            heads.append(_head(message, 0, True))
        else:
            heads.append(_head(message, len(message.blocks), False))
            blocks += message.blocks
    return codec.encode(
        RoundFile(
            round_.number,
            round_.started,
            None,
            prompt,
            tuple(blocks),
            round_.token_count,
            tuple(heads),
            round_.parent,
            round_.offset,
            round_.continued or UNSET,
        )
    )


def _head(m: Message, count: int, prompt: bool) -> Head:
    about = (m.id, m.model, m.sidechain, m.queued, m.usage, m.raw, m.cwd, m.branch, m.client)
    return Head(m.role, m.at, (), *about, count, prompt)


def decode(data: bytes) -> Round:
    """The round that stands in a file."""
    try:
        made = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        made = codec.decode(data, RoundFile)
    messages: list[Message] = []
    at = 0
    for head in made.messages:
        if head.prompt and made.user:
            messages.append(made.user)
            continue
        fields = {name: getattr(head, name) for name in Message.__struct_fields__ if name != "blocks"}
        messages.append(Message(**fields, blocks=made.agent[at : at + head.count]))
        at += head.count
    about = (made.user is not None, made.parent, made.offset)
    return Round(made.round, tuple(messages), *about, continued=made.continued is True)


def load(shelf: Shelf, number: int) -> Round:
    """One stored round."""
    path = shelf.round_file(number)
    try:
        return decode(files.read_regular(path))
    except FileNotFoundError:
        raise NotFound(f"there is no round {number}") from None
    except OSError as error:
        raise StoreError(f"{path}: damaged round file: {error.strerror}", "`muniment reindex` rebuilds it") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise StoreError(f"{path}: damaged round file: {error}", "`muniment reindex` rebuilds it") from None


def is_stored(shelf: Shelf, number: int, data: bytes) -> bool:
    """Whether these bytes are there already."""
    try:
        return files.read_regular(shelf.round_file(number)) == data
    except OSError:
        return False


def numbers(shelf: Shelf) -> list[int]:
    """The numbers of all rounds that have a file, in order."""
    named = (path.stem for path in shelf.rounds.glob("*.json"))
    return sorted(int(name) for name in named if name.isdecimal())


def load_all(shelf: Shelf, first: int = 1) -> Iterator[Round]:
    """The stored rounds from `first` on, in order."""
    number = first
    while shelf.round_file(number).exists():
        yield load(shelf, number)
        number += 1


def stripped(round_: Round) -> Round:
    """Without the media bytes: what a decoded round equals."""
    return structs.replace(round_, media={})
