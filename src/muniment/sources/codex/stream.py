"""What `codex exec --json` prints, saved to a file: one event per line.

    {"type":"thread.started","thread_id":"…"}
    {"type":"turn.started"}
    {"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"**Looking**"}}
    {"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"ls","status":"in_progress",…}}
    {"type":"item.completed","item":{"id":"item_1",…,"aggregated_output":"…","exit_code":0,"status":"completed"}}
    {"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"Done."}}
    {"type":"turn.completed","usage":{"input_tokens":6086,"cached_input_tokens":2944,"output_tokens":223}}

So it was seen in streams that people saved (0.46, autumn 2025) and in the client's own code since. It has no times, no
model, and not the prompt, so a stream is one round that nobody asked for. Events become the records of a rollout; an
item is told when it starts and when it is over, and is one call.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

from muniment.model import Ref, codec
from muniment.sources import salvage
from muniment.sources.codex.items import unparsed
from muniment.sources.codex.records import BYTE_ORDER_MARK, Line, listing, mapping, text
from muniment.sources.codex.turns import Placed
from muniment.sources.lines import Record

_EVENT = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*\{\s*"type"\s*:\s*"(?:thread\.started|turn\.started|item\.(?:started|completed))"'
)
_ID = re.compile(rb'"thread_id"\s*:\s*"([^"\\]{1,128})"')
_OF = "stream of "
_ITEMS = ("item.started", "item.updated", "item.completed")
_SAID = ("agent_message", "plan")
_CALLS = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "mcp_tool_call": ("arguments",),
    "collab_tool_call": ("tool", "prompt", "receiver_thread_ids"),
    "todo_list": ("items",),
}
"""Items that are calls, and the fields that hold what was asked."""


def is_stream(line: bytes) -> bool:
    """Whether a line is one that a stream begins with."""
    return bool(_EVENT.match(line))


def native_id(lines: Iterable[bytes]) -> str | None:
    """The thread that these lines are a stream of, if they are one.

    The client keeps a rollout of the same thread: both must have their place."""
    told = [line for line in lines if is_stream(line)]
    threads = (found for line in told if (found := find_thread(line)))
    unnamed = hashlib.sha256(b"\n".join(told[:3])).hexdigest()
    return _OF + next(threads, unnamed) if told else None


def find_thread(line: bytes) -> str | None:
    """Return the thread that a line names."""
    found = _ID.search(line)
    return found[1].decode("utf-8", "replace") if found else None


def thread_of(native_id: str | None) -> str | None:
    """The thread by the id of its stream."""
    return native_id.removeprefix(_OF) if native_id and native_id.startswith(_OF) else None


def placed(lines: Iterable[Record]) -> Iterator[Placed]:
    """The events as records of a rollout, each with the place of its event."""
    begun: set[str] = set()
    for record, event, wrong in salvage.told(lines, _decode):
        ref = Ref(record.offset, record.length)
        if event is None:
            yield Placed(Line("damaged", {"what": wrong}), ref, "damaged")
            continue
        if event.get("type") == "thread.started":
            begun = set()  # items are counted anew in every run
        for line in _lines(event, begun):
            yield Placed(line, ref)


def _decode(raw: bytes) -> dict[str, Any]:
    try:
        value = codec.loads(raw.removeprefix(BYTE_ORDER_MARK))
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return codec.mapping(value)


def _lines(event: dict[str, Any], begun: set[str]) -> Iterator[Line]:
    """What an event says, and that it was there."""
    kind, item = text(event, "type") or "event", mapping(event, "item")
    if kind in _ITEMS and item:
        yield from _item(kind, item, begun)
    elif kind == "turn.completed" and (usage := mapping(event, "usage")):
        yield Line("event_msg", {"type": "token_count", "info": {"last_token_usage": usage}})
    elif kind in ("error", "turn.failed"):
        said = text(event, "message") or text(mapping(event, "error"), "message")
        yield Line("event_msg", {"type": "error", "message": said})
    else:
        yield Line("event_msg", event | {"type": kind})


def _item(event: str, item: dict[str, Any], begun: set[str]) -> Iterator[Line]:
    kind, over = text(item, "type") or "item", event == "item.completed"
    if kind in _CALLS and (over or event == "item.started"):
        own = text(item, "id") or ""
        if own not in begun or not own:
            begun.add(own)
            yield Line("response_item", _call(own, kind, item))
        if over:
            yield Line("response_item", {"type": "function_call_output", "call_id": own, "output": _output(kind, item)})
    elif not over:
        yield Line("event_msg", {"type": event, "id": item.get("id"), "item": item})
    elif kind == "error":
        yield Line("event_msg", {"type": kind, "message": item.get("message")})
    else:
        yield Line("response_item", _told(kind, item))


def _told(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    """An item that is told only when it is over."""
    words = {"text": item.get("text")}
    if kind in _SAID:
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text"} | words]}
    if kind == "reasoning":
        return {"type": kind, "summary": [{"type": "summary_text"} | words]}
    if kind == "web_search":
        action = item.get("action") or {"type": "search", "query": item.get("query")}
        return {"type": "web_search_call", "id": item.get("id"), "status": "completed", "action": action}
    return item | {"type": kind}


def _call(own: str, kind: str, item: dict[str, Any]) -> dict[str, Any]:
    given = unparsed(_asked(kind, item))
    return {"type": "function_call", "call_id": own, "name": _name(kind, item), "arguments": given}


def _name(kind: str, item: dict[str, Any]) -> str:
    """The tool that an item calls: one of a server has the name that a rollout gives it."""
    server, tool = text(item, "server"), text(item, "tool")
    return f"mcp__{server}__{tool}" if kind == "mcp_tool_call" and server and tool else kind


def _asked(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    """What a tool was given."""
    if kind == "mcp_tool_call":
        return mapping(item, "arguments")
    return {name: item[name] for name in _CALLS[kind] if item.get(name) is not None}


def _output(kind: str, item: dict[str, Any]) -> str | list[Any]:
    """What a tool gave back: a text, or the parts that a server sent."""
    words, result = text(item, "aggregated_output"), mapping(item, "result")
    if words is not None and isinstance(code := item.get("exit_code"), int):
        return f"Exit code: {code}\nOutput:\n{words}"  # as the client told its models
    if kind == "todo_list":
        entries = [codec.mapping(entry) for entry in listing(item, "items")]
        return "\n".join(f"[{'x' if entry.get('completed') else ' '}] {entry.get('text')}" for entry in entries)
    if content := listing(result, "content"):
        return content
    told = result.get("structured_content") or mapping(item, "agents_states")
    return words or text(mapping(item, "error"), "message") or (unparsed(told) if told else text(item, "status") or "")
