"""Calls of another agent as every agent takes them: the input is an object, what came back is text and media."""

from __future__ import annotations

from msgspec import structs

from muniment.model import Block, Media, Text, Tool, Unknown, codec
from muniment.sources.losses import Losses


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


def _is_odd(part: Text | Media | Unknown) -> bool:
    """Whether a part is neither text nor media, which may have been given in a broken encoding."""
    return isinstance(part, Unknown) and part.kind != "media"


def _plain(part: Text | Media | Unknown, losses: Losses, only_images: bool) -> Text | Media | Unknown:
    if only_images and (type_ := other_media(part)):
        losses.add("document", "a result holds only text and images here: its type stands in its place")
        return Text(f"[{type_}: not carried]")
    if not _is_odd(part):
        return part
    assert isinstance(part, Unknown), "an odd part is one that is not known"
    losses.add(f"part of a result: {part.kind}", "only its agent knows it: it is given as text")
    return Text(codec.encode(part.value).decode())
