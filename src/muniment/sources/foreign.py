"""What every agent takes of another: the person begins, a call is asked by an object and gives back text and media."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from muniment.model import Block, Compaction, Media, Message, Round, Text, Tool, Unknown, codec
from muniment.sources.losses import Losses

NOT_RECORDED = "[The beginning of this conversation was not recorded.]"


def begun(rounds: Iterator[Round]) -> Iterator[Round]:
    """Services take no conversation that the agent begins: where its beginning is lost, a word of that goes first."""
    for round_ in rounds:
        spoken = next(filter(_speaks, round_.messages), None)
        if spoken and spoken.role == "assistant" and not any(isinstance(b, Compaction) for b in spoken.blocks):
            opening = Message("user", blocks=(Text(NOT_RECORDED),), at=spoken.at)
            round_ = structs.replace(round_, messages=(opening, *round_.messages))
        yield round_
        if spoken:
            break
    yield from rounds


def _speaks(message: Message) -> bool:
    return not message.sidechain and any(isinstance(block, Text | Tool | Media) for block in message.blocks)


def taken(tool: Tool, losses: Losses, inputs: tuple[type, ...] = (dict,), only_images: bool = False) -> Tool:
    """The call with everything that it says; what had to be said in another way is counted.

    `inputs` are the types that an input may have; `only_images` says that a result can hold no other media."""
    given = tool.input
    if tool.name is not None and not isinstance(given, inputs):
        if given is not None:
            losses.add("bare input of a call", "a call takes an object here: it stands under `input`")
        given = {} if given is None else {"input": given}
    output = tool.output and tuple(_plain(part, losses, only_images) for part in tool.output)
    same = given is tool.input and output == tool.output
    return tool if same else structs.replace(tool, input=given, output=output)


def other_media(block: Block) -> str | None:
    """The type of media that are no image: a document, a sound. None for anything else."""
    type_ = block.media_type if isinstance(block, Media) else None
    if isinstance(block, Unknown) and block.kind == "media":
        type_ = str(codec.mapping(block.value).get("media_type"))
    return None if type_ is None or type_.startswith("image/") else type_


def _plain(part: Text | Media | Unknown, losses: Losses, only_images: bool) -> Text | Media | Unknown:
    if only_images and (type_ := other_media(part)):
        losses.add("document", "a result holds only text and images here: its type stands in its place")
        return Text(f"[{type_}: not carried]")
    if not isinstance(part, Unknown):
        return part
    if part.kind == "media":
        losses.add("media in a broken encoding", "services refuse them: their type stands in their place")
        return Text(f"[{codec.mapping(part.value).get('media_type')}: not carried]")
    losses.add(f"part of a result: {part.kind}", "only its agent knows it: it is given as text")
    return Text(codec.encode(part.value).decode())
