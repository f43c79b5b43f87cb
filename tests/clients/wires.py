"""The APIs that agent programs speak: a scripted answer in the form of each, whole and as a stream of events.

The blocks of a script have the form of the Messages API; the other two say the same in their own words.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

PIECE_CHARS = 200
OUTPUT_TOKENS = 5


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def thinking_block(thought: str) -> Json:
    return {"type": "thinking", "thinking": thought, "signature": f"sig{uuid.uuid4().hex}"}


def call_block(tool: str, **arguments: Any) -> Json:
    return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", "name": tool, "input": arguments}


@dataclass(frozen=True)
class Wire:
    """One API: how an answer looks, and as which events it is streamed."""

    answer: Callable[[str, tuple[Json, ...], int], Json]
    """From the name of the model, the blocks, and how many tokens the question is said to have had."""
    events: Callable[[Json], Iterator[Json]]


# --- Anthropic Messages ---


def message(model: str, blocks: tuple[Json, ...], tokens: int) -> Json:
    """The message object of an answer."""
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(blocks),
        "stop_reason": "tool_use" if calls_tools(blocks) else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": OUTPUT_TOKENS,
        },
    }


def calls_tools(blocks: tuple[Json, ...]) -> bool:
    return any(block["type"] == "tool_use" for block in blocks)


def message_events(whole: Json) -> Iterator[Json]:
    """The stream events that build up a message."""
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    for index, block in enumerate(whole["content"]):
        empty, deltas = split_block(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": OUTPUT_TOKENS}}
    yield {"type": "message_stop"}


def split_block(block: Json) -> tuple[Json, list[Json]]:
    """The empty first form of a block and the deltas that fill it."""
    if block["type"] == "tool_use":
        parts = pieces(json.dumps(block["input"]))
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]
    if block["type"] == "thinking":
        thoughts = [{"type": "thinking_delta", "thinking": part} for part in pieces(block["thinking"])]
        signature = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [*thoughts, signature]
    return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in pieces(block["text"])]


def pieces(text: str) -> list[str]:
    return [text[start : start + PIECE_CHARS] for start in range(0, len(text), PIECE_CHARS)]


# --- OpenAI Responses ---


def response(model: str, blocks: tuple[Json, ...], tokens: int) -> Json:
    """The response object of an answer."""
    counted = {"input_tokens": tokens, "output_tokens": OUTPUT_TOKENS, "total_tokens": tokens + OUTPUT_TOKENS}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": f"resp_{uuid.uuid4().hex[:24]}",
        "object": "response",
        "created_at": int(time.time()),
        "model": model,
        "status": "completed",
        "output": [response_item(block) for block in blocks],
        "usage": {**counted, **details},
    }


def response_item(block: Json) -> Json:
    """A block as an item. A call whose input is plain text is one of a tool that takes any text."""
    own = uuid.uuid4().hex[:24]
    if block["type"] == "thinking":
        summary = [{"type": "summary_text", "text": block["thinking"]}]
        return {"type": "reasoning", "id": f"rs_{own}", "summary": summary, "encrypted_content": block["signature"]}
    if block["type"] == "text":
        content = [{"type": "output_text", "text": block["text"], "annotations": []}]
        return {"type": "message", "id": f"msg_{own}", "role": "assistant", "status": "completed", "content": content}
    called = {"call_id": block["id"], "name": block["name"], "status": "completed"}
    if isinstance(block["input"], str):
        return {"type": "custom_tool_call", "id": f"ctc_{own}", **called, "input": block["input"]}
    if "namespace" in block:
        called["namespace"] = block["namespace"]
    return {"type": "function_call", "id": f"fc_{own}", **called, "arguments": json.dumps(block["input"])}


def response_events(whole: Json) -> Iterator[Json]:
    """The stream events of a response; items come whole, which is all that clients wait for."""
    yield {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}
    for index, item in enumerate(whole["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": empty_item(item)}
        if item["type"] == "message":
            place = {"output_index": index, "item_id": item["id"], "content_index": 0}
            for part in pieces(item["content"][0]["text"]):
                yield {"type": "response.output_text.delta", **place, "delta": part}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": whole}


def empty_item(item: Json) -> Json:
    empty: Json = {"content": []} if item["type"] == "message" else {}
    return {**item, "status": "in_progress", **empty}


# --- Gemini generateContent ---


def generated(model: str, blocks: tuple[Json, ...], tokens: int) -> Json:
    """The answer of generateContent."""
    counted = {"promptTokenCount": tokens, "candidatesTokenCount": OUTPUT_TOKENS}
    content = {"role": "model", "parts": [generated_part(block) for block in blocks]}
    return {
        "candidates": [{"index": 0, "finishReason": "STOP", "content": content}],
        "usageMetadata": {**counted, "totalTokenCount": tokens + OUTPUT_TOKENS},
        "modelVersion": model,
        "responseId": uuid.uuid4().hex,
    }


def generated_part(block: Json) -> Json:
    if block["type"] == "thinking":
        return {"text": block["thinking"], "thought": True}
    if block["type"] == "text":
        return {"text": block["text"]}
    return {"functionCall": {"name": block["name"], "args": block["input"]}}


def generated_events(whole: Json) -> Iterator[Json]:
    """The parts in small pieces, and what is known only at the end in an event of its own."""
    (candidate,) = whole["candidates"]
    for part in candidate["content"]["parts"]:
        for piece in pieces(part["text"]) if "text" in part else [None]:
            told = {**part, "text": piece} if piece else part
            yield {**whole, "candidates": [{"index": 0, "content": {"role": "model", "parts": [told]}}]}
    ending = {**candidate, "content": {"role": "model", "parts": []}}
    yield {**whole, "candidates": [ending]}


MESSAGES = Wire(message, message_events)
RESPONSES = Wire(response, response_events)
GENERATE = Wire(generated, generated_events)


def wire_of(path: str) -> Wire | None:
    """The API that a request's path belongs to; None if it asks for no answer of a model."""
    bare = path.partition("?")[0]
    if bare.endswith("/messages"):
        return MESSAGES
    if bare.endswith("/responses"):
        return RESPONSES
    return GENERATE if bare.endswith(("generateContent", "streamGenerateContent")) else None
