"""What a request tells the model of the past: words, and calls each with its result, in any API and in order.

What a client says by itself beside the conversation (its instructions, the date, the folder) is left out, and so is
thinking: providers take only their own back.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from .client import PROBE
from .wires import Json


@dataclass(frozen=True)
class Words:
    role: str
    text: str


@dataclass(frozen=True)
class Call:
    tool: str
    input: str
    """As JSON with sorted keys, or plain text where a tool takes that."""
    result: str | None = None


@dataclass(frozen=True)
class _Result:
    id: str
    text: str


Told = list[Words | Call]

_INJECTED = re.compile(r"\s*<(system-reminder|environment_context|skills_instructions|session_context|reminder)>")
_DATED = re.compile(r"<current_datetime>[^<]*</current_datetime>\s*|\s*<reminder>.*?</reminder>\s*", re.DOTALL)


def told(request: Json) -> Told:
    """What was said and done before the probe."""
    repeats = "contents" in request  # Gemini CLI itself sends the results of a resumed session twice
    found: dict[str, Words | Call] = {}
    for place, (id_, one) in enumerate(_pieces(request)):
        if isinstance(one, _Result):
            call = found.get(one.id)
            assert isinstance(call, Call), f"a result of no call: {one}"
            assert call.result is None or repeats, f"a second result of one call: {one}"
            found[one.id] = replace(call, result=one.text)
        else:
            assert not id_ or id_ not in found, f"two calls with one id: {one}"
            found[id_ or str(place)] = one
    return [one for one in found.values() if not _is_beside(one)]


def _is_beside(one: Words | Call) -> bool:
    if isinstance(one, Call):
        return False
    return PROBE in one.text or not one.text.strip() or bool(_INJECTED.match(one.text))


def words(history: Told) -> list[Words]:
    return [one for one in history if isinstance(one, Words)]


def calls(history: Told) -> list[Call]:
    return [one for one in history if isinstance(one, Call)]


_Pieces = Iterator[tuple[str, Words | Call | _Result]]


def _pieces(request: Json) -> _Pieces:
    """Everything with the id of its call; words have none."""
    if "contents" in request:
        for content in request["contents"]:
            yield from _generate_parts(content)
    elif "input" in request:
        for item in request["input"]:
            yield from _response_item(item)
    else:
        for message in request["messages"]:
            yield from _message_blocks(message)


def _message_blocks(message: Json) -> _Pieces:
    content = message["content"]
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if block["type"] == "text" and message["role"] != "system":
            yield "", Words(message["role"], _DATED.sub("", block["text"]))
        elif block["type"] == "tool_use":
            yield block["id"], Call(block["name"], _given(block["input"]))
        elif block["type"] == "tool_result":
            yield "", _Result(block["tool_use_id"], _text(block.get("content", "")))


def _response_item(item: Json) -> _Pieces:
    kind = item["type"]
    if kind == "message" and item["role"] in ("user", "assistant"):
        yield from (("", Words(item["role"], part.get("text", ""))) for part in item["content"])
    elif kind in ("function_call", "custom_tool_call"):
        given = item["input"] if kind == "custom_tool_call" else _given(json.loads(item["arguments"]))
        yield item["call_id"], Call(item["name"], given)
    elif kind.endswith("_output"):
        yield "", _Result(item["call_id"], _text(item["output"]))


def _generate_parts(content: Json) -> _Pieces:
    role = "assistant" if content["role"] == "model" else "user"
    for part in content["parts"]:
        if "functionCall" in part:
            call = part["functionCall"]
            yield call["id"], Call(call["name"], _given(call["args"]))
        elif "functionResponse" in part:
            result = part["functionResponse"]
            yield "", _Result(result["id"], str(result["response"].get("output")))
        elif not part.get("thought"):
            yield "", Words(role, part.get("text", ""))


def _given(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _text(content: str | list[Json]) -> str:
    """The text of a result, which may be one string or several parts."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
