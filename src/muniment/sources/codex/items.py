"""Response items to blocks: what the model was told, said and did.

What a block has no field for and a rewritten file needs again (the kind of a call, a phase) goes as a note into
the message's `raw`.
"""

from __future__ import annotations

from typing import Any, cast

from muniment.model import Block, Media, Ref, Text, Thinking, Tool, Unknown, codec
from muniment.sources.builder import RoundBuilder
from muniment.sources.codex.records import listing, text

INPUT_OF = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "web_search_call": "action",
    "tool_search_call": "arguments",
    "image_generation_call": "revised_prompt",
}
"""Calls, and the field that holds what was asked."""

NAME_OF = {
    "local_shell_call": "local_shell",
    "web_search_call": "web_search",
    "tool_search_call": "tool_search",
    "image_generation_call": "image_generation",
}
"""Names of calls that carry none."""

UNANSWERED = frozenset({"web_search_call", "image_generation_call"})
"""Calls that the provider runs itself: no output follows."""

OF_RESPONSE = frozenset({"message", "reasoning", *INPUT_OF})
"""Items that a response of the model is made of."""
OUTPUT_OF = {"function_call_output": "output", "custom_tool_call_output": "output", "tool_search_output": "tools"}

EMPTY = {"assistant": "empty message", "user": "empty injected message"}
"""Quiet events that stand for an item without content, by its role."""

_REFUSAL = {"type", "refusal"}
"""Fields of a part in which the model says that it will not."""
_KNOWN = frozenset({"id", "call_id", "name", "result", "internal_chat_message_metadata_passthrough", "metadata"})


def parts(content: Any, ref: Ref, round_: RoundBuilder) -> list[Any]:
    """The parts of a message or an output as blocks."""
    if isinstance(content, str):
        return [Text(content, Ref(ref.offset, ref.length, ref.id, ref.parent, ref.at, plain=True))]
    return [_part(part, ref, round_) for part in cast("list[Any]", content)] if isinstance(content, list) else []


def _part(part: Any, ref: Ref, round_: RoundBuilder) -> Text | Media | Unknown:
    if not isinstance(part, dict):
        return Unknown(kind="part", value=part, ref=ref)
    part = cast("dict[str, Any]", part)
    if isinstance(words := part.get("refusal" if part.keys() == _REFUSAL else "text"), str):
        return Text(words, ref)
    url = text(part, "image_url")
    made = image(url, ref, round_) if url and set(part) <= {"type", "image_url", "detail"} else None
    return made or Unknown(kind=str(part.get("type")), value=part, ref=ref)


def find_details(content: Any) -> dict[str, str]:
    """Return how closely the model was to look at each picture, by the number of its part."""
    listed = cast("list[Any]", content) if isinstance(content, list) else []
    asked = ((str(number), codec.mapping(part)) for number, part in enumerate(listed))
    return {number: detail for number, part in asked if "image_url" in part and (detail := text(part, "detail"))}


def image(url: str, ref: Ref, round_: RoundBuilder) -> Media | Unknown | None:
    """An image given as a data URL; None for any other address."""
    scheme, comma, data = url.partition(";base64,")
    if not comma or not scheme.startswith("data:"):
        return None
    return round_.add_media(data, scheme[5:], ref)


def thinking(payload: dict[str, Any], ref: Ref) -> Thinking:
    """Reasoning: its summary and open text, and what only the provider can read."""
    said = [*listing(payload, "summary"), *listing(payload, "content")]
    texts = [codec.mapping(part).get("text") for part in said]
    words = "\n\n".join(part for part in texts if isinstance(part, str))
    signature = text(payload, "encrypted_content")
    return Thinking(words, signature, redacted=bool(signature) and not words, ref=ref)


def call(payload: dict[str, Any], ref: Ref, spare_id: str) -> tuple[Tool, dict[str, Any]]:
    """A call of any kind as a tool without its output, and the note to write it again."""
    kind = str(payload["type"])
    given = payload.get(INPUT_OF[kind])
    tool = Tool(
        id=text(payload, "call_id") or text(payload, "id") or spare_id,
        name=text(payload, "name") or NAME_OF.get(kind, kind),
        input=_parsed(given) if kind == "function_call" and isinstance(given, str) else given,
        output=() if kind in UNANSWERED and payload.get("status") == "completed" else None,
        ref=ref,
    )
    return tool, _note(payload, kind, tool)


def _note(payload: dict[str, Any], kind: str, tool: Tool) -> dict[str, Any]:
    given = INPUT_OF[kind]
    known = _KNOWN if payload.get(given) not in (tool.input, unparsed(tool.input)) else _KNOWN | {given}
    note = {name: value for name, value in payload.items() if name not in known and value is not None}
    if kind == usual_kind(tool.input):
        del note["type"]
    if note.get("status") == "completed":
        del note["status"]
    return note


def usual_kind(given: Any) -> str:
    """The kind that a call has unless a note says otherwise: free text goes to a custom tool."""
    return "custom_tool_call" if isinstance(given, str) else "function_call"


def _parsed(arguments: str) -> Any:
    """Arguments as an object; what is none stays a string. A note keeps the string that `unparsed` does not give."""
    try:
        value = codec.loads(arguments.encode())
    except ValueError:
        return arguments
    return cast("dict[str, Any]", value) if isinstance(value, dict) else arguments


def unparsed(given: Any) -> str:
    """What was asked as the string that a file holds."""
    return given if isinstance(given, str) else codec.encode(given).decode()


def output(payload: dict[str, Any], kind: str, round_: RoundBuilder) -> tuple[Any, ...]:
    """What a tool gave back."""
    given = payload.get(OUTPUT_OF[kind])
    if isinstance(given, (str, list)) and kind != "tool_search_output":
        return tuple(_bare(block) for block in parts(cast("Any", given), Ref(), round_))
    return (Unknown(kind=OUTPUT_OF[kind], value=given),)


def _bare(block: Block) -> Block:
    """Parts of an output carry no place of their own; the tool's `result` has it."""
    return Text(block.text) if isinstance(block, Text) else block
