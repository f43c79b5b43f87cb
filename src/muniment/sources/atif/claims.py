"""What each line of a trajectory says, told without the reader: the yardstick of `check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from muniment.model.codec import mapping
from muniment.sources import documents
from muniment.sources.base import Claim


def claims(line: bytes) -> Iterator[Claim]:
    """The claims of one step, or of what stands around the steps."""
    if not line.strip():
        return
    try:
        kind, value = documents.decode(line)
    except ValueError:
        return
    if kind == "entry":
        yield from _step(value, "")
        return
    for name in value:
        yield Claim(name, f"record: {name}", value[name])
    for trajectory in _entries(value, "subagent_trajectories"):
        yield from _trajectory(trajectory)


def _trajectory(value: dict[str, Any]) -> Iterator[Claim]:
    for step in _entries(value, "steps"):
        yield from _step(step, f"{value.get('trajectory_id')} ")
    for inner in _entries(value, "subagent_trajectories"):
        yield from _trajectory(inner)


def _step(step: dict[str, Any], within: str) -> Iterator[Claim]:
    key = f"{within}{step.get('step_id')}"
    if step.get("source") not in ("user", "agent"):
        yield Claim(key, "record: system", step)
        return
    yield Claim(key, "id", step.get("step_id"))
    yield from _content(key, step.get("message"), "text")
    for field, name in (("time", "timestamp"), ("model", "model_name"), ("usage", "metrics")):
        if name in step:
            yield Claim(key, field, step[name])
    if step.get("reasoning_content"):
        yield Claim(key, "thinking", step["reasoning_content"])
    for call in _entries(step, "tool_calls"):
        own = f"{key} {call.get('tool_call_id')}"
        yield Claim(own, "tool call", [call.get("tool_call_id"), call.get("function_name")])
        yield Claim(own, "tool input", call.get("arguments"))
    for number, result in enumerate(_entries(mapping(step.get("observation")), "results")):
        yield from _content(f"{key}.{number}", result.get("content"), "tool output")
        if not result.get("content"):
            yield Claim(f"{key}.{number}", "record: observation", result)


def _content(key: str, content: Any, field: str) -> Iterator[Claim]:
    if isinstance(content, str) and content:
        yield Claim(key, field, content)
    for number, part in enumerate(cast("list[Any]", content) if isinstance(content, list) else []):
        words = mapping(part).get("text")
        if isinstance(words, str):
            yield Claim(f"{key}/{number}", field, words)
        else:
            yield Claim(f"{key}/{number}", f"part: {mapping(part).get('type')}", part)


def _entries(fields: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = fields.get(name)
    return [mapping(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else []
