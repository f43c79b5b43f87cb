"""What `pi --mode json` prints: the header of its session, then events, of which a few are entries in another dress.

    {"type":"message_start","message":{…}}   {"type":"message_update",…}   as it comes in
    {"type":"message_end","message":{"role":"assistant","content":[…],"timestamp":1767323045000,…}}
    {"type":"compaction_end","reason":"threshold","result":{"summary":"…",…},"aborted":false}

All others tell again what those say.
"""

from __future__ import annotations

from typing import Any

from muniment.model.codec import mapping
from muniment.sources.history import time_of

_BEGIN_AND_END = ("agent", "turn", "message", "tool_execution", "compaction", "auto_retry")
EVENTS = frozenset(f"{what}_{when}" for what in _BEGIN_AND_END for when in ("start", "update", "end"))
"""Types of events; no entry of a kept session has one of them."""


def as_entry(event: dict[str, Any]) -> dict[str, Any]:
    """An event as the entry that it stands for; what stands for none is itself, and so is an entry."""
    match event.get("type"):
        case "message_end" if message := mapping(event.get("message")):
            at = time_of(message.get("timestamp"), 1000)
            return {"type": "message", **({"timestamp": at} if at else {}), "message": message}
        case "compaction_end" if isinstance(mapping(event.get("result")).get("summary"), str):
            return {"type": "compaction", **mapping(event["result"])}
        case _:
            return event
