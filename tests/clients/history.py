"""What the model was told: reading and comparing the requests that a resumed client sends."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .client import PROBE, Run
from .wires import Json

PAST = ("messages", "input", "contents")
"""Where a request tells the past: each API has one of these."""

COMPARED = ("model", "system", "systemInstruction", "tools", *PAST)

# Marks of the provider's cache, and the ids that Codex gives anew to all items but calls.
VOLATILE = {"messages": {"cache_control"}, "input": {"id"}, "contents": set[str]()}

# The moment of a prompt, the probe's too.
NOW = re.compile(r"<current_datetime>[^<]*<")

# The client wraps what it injects into a user message in this tag.
INJECTED = "<system-reminder>"


def resumed_request(run: Run) -> Json:
    """The request that carries the probe; a refused resume is an error, never an empty history."""
    asked = [request for request in run.requests if PROBE in json.dumps(request[past_of(request)][-3:])]
    assert asked, f"the client refused to resume (exit {run.exit_code}): {run.output or run.errors}"
    return asked[-1]


def past_of(request: Json) -> str:
    return next(part for part in PAST if part in request)


def difference(one: Run, two: Run) -> str | None:
    """The first place where two resumes told the model different things, or None."""
    left, right = (steady(request, VOLATILE[past_of(request)]) for request in map(resumed_request, (one, two)))
    found = (first_difference(left.get(part), right.get(part), part) for part in COMPARED)
    return next((place for place in found if place), None)


def conversation(run: Run) -> list[Json]:
    """What was said and done before the probe: typed texts, answers, thinking, calls and results, in order.

    What the client injects by itself (system messages, reminders) is left out: it depends on the place and the day.
    """
    messages = [message for message in resumed_request(run)["messages"] if message["role"] != "system"]
    blocks = [{"role": message["role"], **block} for message in messages for block in content_blocks(message)]
    said = [steady(block) for block in blocks if not is_injected(block)]
    return [block for block in said if block.get("text") != PROBE]


def content_blocks(message: Json) -> list[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def is_injected(block: Json) -> bool:
    return block["type"] == "text" and block["text"].lstrip().startswith(INJECTED)


def placeless(said: list[Json], folders: Iterable[Path]) -> list[Json]:
    """The conversation without the folders of transcripts: a moved session may name its new one."""
    text = json.dumps(said)
    for folder in folders:
        text = text.replace(str(folder), "FOLDER")
    return json.loads(text)


def renamed(said: list[Json], fork_id: str, session_id: str) -> list[Json]:
    """The conversation of a fork as its original had it: paths of saved output hold the id."""
    return json.loads(json.dumps(said).replace(fork_id, session_id))


def readable(said: list[Json]) -> list[object]:
    """The conversation as a page for readers holds it: texts, and calls each with its result.

    The page has no ids, no order of arrival of results, no error flags, and no signatures, without which the model's
    API takes no thoughts back.
    """
    results = {block["tool_use_id"]: plain_text(block["content"]) for block in said if "tool_use_id" in block}
    calls = {block["id"]: (block["name"], block["input"], results[block["id"]]) for block in said if "id" in block}
    return [calls.get(block.get("id", "")) or block["text"] for block in said if block["type"] in ("text", "tool_use")]


def plain_text(content: str | list[Json]) -> str:
    """The text of a tool result, which may be one string or several blocks."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def steady(value: Any, volatile: Iterable[str] = ("cache_control",)) -> Any:
    """The value without what changes from run to run: volatile fields, the billing header, the time of day."""
    if isinstance(value, list):
        return [steady(item, volatile) for item in value if not is_billing(item)]
    if isinstance(value, dict):
        return {key: steady(item, volatile) for key, item in value.items() if key not in volatile}
    return NOW.sub("<current_datetime><", value) if isinstance(value, str) else value


def is_billing(item: Any) -> bool:
    return isinstance(item, dict) and str(item.get("text")).startswith("x-anthropic-billing-header")


def first_difference(one: Any, two: Any, place: str) -> str | None:
    """The path of the first place where two JSON values differ, with both values cut short."""
    if isinstance(one, dict) and isinstance(two, dict):
        pairs = [(f"{place}.{key}", one.get(key), two.get(key)) for key in {**one, **two}]
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        pairs = [(f"{place}[{index}]", *pair) for index, pair in enumerate(zip(one, two, strict=True))]
    else:
        return None if one == two else f"{place}: {shortened(one)} / {shortened(two)}"
    found = (first_difference(left, right, inner) for inner, left, right in pairs)
    return next((difference for difference in found if difference), None)


def shortened(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} items"
    text = json.dumps(value)
    return text if len(text) < 200 else f"{text[:200]}…"
