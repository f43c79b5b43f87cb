"""What the services behind the APIs would refuse, as far as their documentation tells: the stand-in takes anything.

A resumed history may look right and still be turned away: an open call, a result out of place, a name with a space.
"""

import json
import re
from collections.abc import Iterator

from .wires import Json

NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


def refusals(request: Json) -> list[str]:
    """Why a request would be refused; empty if nothing is known against it."""
    if "input" in request:
        return list(_of_response(request["input"]))
    return list(_of_messages([message for message in request["messages"] if message["role"] != "system"]))


def _of_messages(messages: list[Json]) -> Iterator[str]:
    """Every call is answered in the next message and nowhere else; inputs are objects; no text is empty."""
    if messages[0]["role"] != "user":
        yield "the first message is not the user's"
    open_calls: set[str] = set()
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        answered = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if answered != open_calls:
            yield f"open calls {sorted(open_calls)}, results {sorted(answered)}"
        open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
        for block in blocks:
            yield from _of_block(block)
    if open_calls:
        yield f"no results of {sorted(open_calls)}"


def _of_block(block: Json) -> Iterator[str]:
    if block["type"] == "text" and not block["text"].strip():
        yield "an empty text"
    if block["type"] == "thinking" and not block.get("signature"):
        yield "a thought without a signature"
    if block["type"] == "tool_use":
        if not isinstance(block["input"], dict):
            yield f"the input of {block['name']} is no object"
        yield from (f"{value!r} is no name" for value in (block["id"], block["name"]) if not NAME.fullmatch(value))


def _of_response(items: list[Json]) -> Iterator[str]:
    """Every call has one output, which comes after it and is of its kind; arguments are the text of an object."""
    kinds = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
    waited_for: dict[str, str] = {}
    for item in items:
        if item["type"] in kinds:
            waited_for[item["call_id"]] = kinds[item["type"]]
            yield from _of_call(item)
        elif item["type"] in kinds.values() and waited_for.pop(item["call_id"], None) != item["type"]:
            yield f"an output of no call: {item['call_id']}"
    yield from (f"no output of {call}" for call in waited_for)


def _of_call(item: Json) -> Iterator[str]:
    if not NAME.fullmatch(item["name"]):
        yield f"{item['name']!r} is no name"
    if item["type"] == "function_call" and not isinstance(json.loads(item["arguments"]), dict):
        yield f"the arguments of {item['name']} are no object"
