"""Calls of another agent as every agent takes them: the input is an object, what came back is text and media."""

from __future__ import annotations

from msgspec import structs

from muniment.model import Media, Text, Tool, Unknown, codec
from muniment.sources.losses import Losses


def taken(tool: Tool, losses: Losses, inputs: tuple[type, ...] = (dict,)) -> Tool:
    """The call with everything that it says; what had to be said in another way is counted.

    `inputs` are the types that an input may have."""
    given = tool.input
    if tool.name is not None and not isinstance(given, inputs):
        if given is not None:
            losses.add("bare input of a call", "a call takes an object here: it stands under `input`")
        given = {} if given is None else {"input": given}
    if any(_is_odd(part) for part in tool.output or ()):
        return structs.replace(tool, input=given, output=tuple(_plain(part, losses) for part in tool.output or ()))
    return tool if given is tool.input else structs.replace(tool, input=given)


def _is_odd(part: Text | Media | Unknown) -> bool:
    """Whether a part is neither text nor media, which may have been given in a broken encoding."""
    return isinstance(part, Unknown) and part.kind != "media"


def _plain(part: Text | Media | Unknown, losses: Losses) -> Text | Media | Unknown:
    if not _is_odd(part):
        return part
    assert isinstance(part, Unknown), "an odd part is one that is not known"
    losses.add(f"part of a result: {part.kind}", "only its agent knows it: it is given as text")
    return Text(codec.encode(part.value).decode())
