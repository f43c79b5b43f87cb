"""Messages of the earliest versions, which hold their parts themselves, in the form of those since.

    {"id":"msg_…","role":"assistant","parts":[{"type":"text","text":"hi"},{"type":"tool-invocation",
     "toolInvocation":{"state":"result","toolCallId":"c","toolName":"bash","args":{…},"result":"…"}}],
     "metadata":{"time":{…},"assistant":{"modelID":…,"tokens":{…}},"tool":{"c":{"title":…,"time":{…}}}}}

It is the form that opencode itself made of them.
"""

from __future__ import annotations

from typing import Any

from muniment.model import codec
from muniment.sources.documents import Part
from muniment.sources.opencode.records import listing, mapping, part_id, text

_TOLD = ("time", "sessionID", "error")
"""What is said of every message; what an answer says beside stands in `assistant`, what a call does in `tool`."""
_STATES = {"partial-call": "pending", "call": "running", "result": "completed"}
_RENAMED = {"reasoning": ("providerMetadata", "metadata"), "file": ("mediaType", "mime")}


def of_now(part: Part) -> Part:
    """A line of a document; one of an earliest message in the form of those since."""
    info = mapping(part.value, "info") if part.kind == "entry" else {}
    if not isinstance(info.get("parts"), list):
        return part
    tools = mapping(mapping(info, "metadata"), "tool")
    own = [_part(piece, part_id(info.get("id"), at), tools) for at, piece in enumerate(listing(info, "parts"))]
    return Part(part.kind, part.value | {"info": _info(info), "parts": own + listing(part.value, "parts")})


def _info(info: dict[str, Any]) -> dict[str, Any]:
    told = mapping(info, "metadata")
    made = {name: value for name, value in info.items() if name not in ("parts", "metadata")}
    made |= mapping(told, "assistant") | {name: told[name] for name in _TOLD if name in told}
    rest = {name: value for name, value in told.items() if name not in (*_TOLD, "assistant", "tool")}
    return made | ({"metadata": rest} if rest else {})


def _part(piece: Any, own: str, tools: dict[str, Any]) -> Any:
    fields = codec.mapping(piece)
    if not fields:
        return piece
    call = mapping(fields, "toolInvocation")
    if fields.get("type") == "tool-invocation" and text(call, "state") in _STATES:
        return {"id": own, "type": "tool"} | _call(call, mapping(tools, text(call, "toolCallId") or ""))
    was, is_ = _RENAMED.get(text(fields, "type") or "", ("", ""))
    return {"id": own} | {is_ if name == was else name: value for name, value in fields.items()}


def _call(call: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    """A call with what is told of it elsewhere in the message."""
    state: dict[str, Any] = {"status": _STATES[call["state"]], "input": call.get("args")}
    if call["state"] == "result":
        state["output"] = call.get("result")
    state |= {name: about[name] for name in ("title", "time") if name in about}
    state["metadata"] = {name: value for name, value in about.items() if name not in ("title", "time")}
    return {"callID": call.get("toolCallId"), "tool": call.get("toolName"), "state": state}
