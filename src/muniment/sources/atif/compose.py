"""A message as a step: the reverse of `rounds`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muniment.model import Block, Message, Text, Thinking, Tool, Unknown, Usage
from muniment.model.codec import mapping


def step(message: Message, blocks: Sequence[Block]) -> dict[str, Any]:
    """A step with everything that these blocks of a message say."""
    made: dict[str, Any] = {"timestamp": message.at} if message.at else {}
    made["source"] = "user" if message.role == "user" else "agent"
    made["message"] = _content([block for block in blocks if isinstance(block, Text | Unknown)])
    if message.role == "assistant":
        made |= _answered(message, blocks)
    return made


def _answered(message: Message, blocks: Sequence[Block]) -> dict[str, Any]:
    made: dict[str, Any] = {"model_name": message.model} if message.model else {}
    if thought := "\n\n".join(block.text for block in blocks if isinstance(block, Thinking) and block.text):
        made["reasoning_content"] = thought
    tools = [block for block in blocks if isinstance(block, Tool)]
    if calls := [_call(tool) for tool in tools if tool.name is not None]:
        made["tool_calls"] = calls
    if results := [_result(tool) for tool in tools if tool.output is not None]:
        made["observation"] = {"results": results}
    return made | ({"metrics": _metrics(message.usage)} if message.usage else {})


def _call(tool: Tool) -> dict[str, Any]:
    return {"tool_call_id": tool.id, "function_name": tool.name, "arguments": tool.input}


def _result(tool: Tool) -> dict[str, Any]:
    """What came back; without its call in the same step it may not name one."""
    named = {"source_call_id": tool.id} if tool.name is not None else {}
    return named | {"content": _content([part for part in tool.output or () if isinstance(part, Text | Unknown)])}


def _content(blocks: Sequence[Text | Unknown]) -> Any:
    """One text as a string, anything more as parts."""
    if not blocks:
        return ""
    first = blocks[0]
    if len(blocks) == 1 and isinstance(first, Text):
        return first.text
    return [_part(block) for block in blocks if isinstance(block, Text) or mapping(block.value)]


def _part(block: Text | Unknown) -> Any:
    return {"type": "text", "text": block.text} if isinstance(block, Text) else block.value


def _metrics(usage: Usage) -> dict[str, Any]:
    """Tokens as trajectories count them: what was cached is part of the prompt."""
    whole = usage.input + usage.cache_read + usage.cache_write
    return {"prompt_tokens": whole, "completion_tokens": usage.output, "cached_tokens": usage.cache_read}
