"""The ten events of the decision record and what each of them must say.

The record names the fields of the header and, in words, the content of each event; the names of those fields are ours.
More fields than these are allowed.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

HEADER = "session_start"
END = "session_end"


class Header(Struct, frozen=True):
    """Line 1; it has no `timestamp`."""

    session_id: str
    image_id: str
    started_at: str
    agent_provider: str | None
    agent_temperature: float | None
    context_loaded: list[str]
    starting_snapshot_hash: str | None


class AgentThinking(Struct, frozen=True):
    """The agent's reasoning, if its provider shows it."""

    text: str


class AgentToolCall(Struct, frozen=True):
    """Tool name and parameters."""

    tool: str
    parameters: Any


class ToolResult(Struct, frozen=True):
    """What the tool gave back."""

    result: Any


class PhotographerMessage(Struct, frozen=True):
    """Text from the photographer."""

    text: str


class SnapshotCreated(Struct, frozen=True):
    """A state of the image was kept."""

    hash: str
    label: str | None


class MaskGenerated(Struct, frozen=True):
    """A mask, who made it, and what it covers."""

    name: str
    provider: str
    target: str


class VocabularyGapLogged(Struct, frozen=True):
    """Something that the vocabulary has no word for."""

    description: str
    workaround: str | None


class TasteProposal(Struct, frozen=True):
    """A pending update of what is known of the photographer's taste."""

    update: Any


class TasteConfirmation(Struct, frozen=True):
    """The update as it was confirmed."""

    update: Any


class SessionEnd(Struct, frozen=True):
    """The final entry."""

    statistics: dict[str, Any]


EVENTS: dict[str, type[Struct]] = {
    "agent_thinking": AgentThinking,
    "agent_tool_call": AgentToolCall,
    "tool_result": ToolResult,
    "photographer_message": PhotographerMessage,
    "snapshot_created": SnapshotCreated,
    "mask_generated": MaskGenerated,
    "vocabulary_gap_logged": VocabularyGapLogged,
    "taste_proposal": TasteProposal,
    "taste_confirmation": TasteConfirmation,
    END: SessionEnd,
}


def validate(type_: str, payload: dict[str, Any]) -> None:
    """Raises ValueError, in plain words, for an event that lacks something or says it in another shape."""
    shape = Header if type_ == HEADER else EVENTS.get(type_)
    if shape is None:
        raise ValueError(f"{type_!r} is no event of this format: {', '.join(EVENTS)}")
    missing = [name for name in shape.__struct_fields__ if name not in payload]
    if missing:
        raise ValueError(f"{type_}: missing {', '.join(missing)}")
    try:
        msgspec.convert(payload, shape)
    except msgspec.ValidationError as error:
        raise ValueError(f"{type_}: {error}") from None
