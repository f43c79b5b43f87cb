"""Prompts, calls, results and tokens of every real session, counted from its raw records without a reader of ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from muniment import sources
from muniment.model import Facts, Round, Tool
from muniment.sources.lines import records

pytestmark = pytest.mark.corpus


class Counts(NamedTuple):
    """What a session holds."""

    prompts: int
    calls: int
    results: int
    tokens: int


def count_opencode(document: Any) -> Counts:
    """Words that the client itself wrote are synthetic. Some providers count reasoning as output: the total tells."""
    messages = document["messages"]
    asked = [message["parts"] for message in messages if message["info"]["role"] == "user"]
    spoken = [parts for parts in asked if any(_is_human(part) for part in parts)]
    tools = [part["state"] for message in messages for part in message["parts"] if part["type"] == "tool"]
    spent = [message["info"]["tokens"] for message in messages if message["info"].get("tokens")]
    ended = sum(tool["status"] in ("completed", "error") for tool in tools)
    return Counts(len(spoken), len(tools), ended, sum(map(_total, spent)))


def _is_human(part: dict[str, Any]) -> bool:
    return part["type"] in ("text", "file", "agent") and not part.get("synthetic")


def _total(spent: dict[str, Any]) -> int:
    parts = spent["input"] + spent["output"] + spent["reasoning"] + spent["cache"]["read"] + spent["cache"]["write"]
    return spent.get("total", parts)


def count_pi(entries: Any) -> Counts:
    """A human may run commands too; each is a call with its result."""
    messages = [entry["message"] for entry in entries if entry["type"] == "message"]
    roles = [message["role"] for message in messages]
    answers = [message for message in messages if message["role"] == "assistant"]
    calls = sum(part["type"] == "toolCall" for message in answers for part in message["content"])
    run = roles.count("bashExecution")
    spent = (message["usage"] for message in answers if message.get("usage"))
    tokens = sum(usage[kind] for usage in spent for kind in ("input", "output", "cacheRead", "cacheWrite"))
    return Counts(roles.count("user"), calls + run, roles.count("toolResult") + run, tokens)


def count_copilot(events: Any) -> Counts:
    """What has a source was put in by the client or by another agent."""
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        by_kind.setdefault(event["type"], []).append(event["data"])
    prompts = [said for said in by_kind.get("user.message", []) if not said.get("source")]
    answers = by_kind.get("assistant.message", [])
    asked = {request["toolCallId"] for answer in answers for request in answer.get("toolRequests") or ()}
    begun = {call["toolCallId"] for call in by_kind.get("tool.execution_start", [])}
    tokens = sum(answer.get("outputTokens") or 0 for answer in answers)
    return Counts(len(prompts), len(asked | begun), len(by_kind.get("tool.execution_complete", [])), tokens)


def count_gemini(document: Any) -> Counts:
    messages = document["messages"]
    calls = [call for message in messages for call in message.get("toolCalls") or ()]
    asked = [message for message in messages if message["type"] == "user"]
    prompts = sum(message["content"] != "System: Please continue." for message in asked)
    tokens = sum((message.get("tokens") or {}).get("total", 0) for message in messages)
    return Counts(prompts, len(calls), sum(call.get("result") is not None for call in calls), tokens)


def count_read(rounds: list[Round]) -> Counts:
    """What our reading says of the same."""
    tools = [block for round_ in rounds for block in round_.of(Tool)]
    users = [m for round_ in rounds for m in round_.messages if m.role == "user" and not m.sidechain]
    ended = sum(tool.result is not None for tool in tools)
    calls = sum(tool.name is not None for tool in tools)
    return Counts(len(users), calls, ended, sum(round_.token_count for round_ in rounds))


def load(data: bytes) -> Any:
    """A document, else the records on its lines."""
    try:
        return json.loads(data)
    except ValueError:
        return [json.loads(line) for line in data.split(b"\n") if line.strip()]


@pytest.mark.parametrize(
    ("name", "count"),
    [("opencode", count_opencode), ("pi", count_pi), ("copilot", count_copilot), ("gemini", count_gemini)],
)
def test_a_reading_holds_what_the_raw_records_hold(corpus: Path, name: str, count: Callable[[Any], Counts]) -> None:
    source = sources.named(name)
    paths = [path for path in sorted((corpus / name).rglob("*")) if path.is_file()]
    assert paths
    for path in paths:
        data = path.read_bytes()
        rounds = list(source.read(records(source.open(path.name, [data])), Facts("session", name)))
        assert count_read(rounds) == count(load(data)), path
