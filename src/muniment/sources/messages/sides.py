"""What one object of a log asks and what it answers: programs put both side by side in many ways.

{"request":{…},"response":{…}}     {"messages":[…],"choices":[…]}     {"messages":[…],"response":"good day"}
"""

from __future__ import annotations

from typing import Any

from muniment.model import codec
from muniment.sources.messages import shapes

GIVEN = ("messages", "input")
_BODIES = ("request", "response")
_ANSWERS = ("response", "output", "completion")
"""Fields that hold an answer beside what was asked, as a string or as messages."""


def parted(value: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A request and its answer; either may be empty."""
    request, answer = (codec.mapping(value.get(name)) for name in _BODIES)
    if request or answer:
        left_out = {*shapes.TIMES, *(name for name in _BODIES if not value.get(name) or isinstance(value[name], dict))}
        asked = {name: other for name, other in value.items() if name not in left_out} | request
    elif _is_answer(value):
        asked = {name: value[name] for name in GIVEN if name in value}
        answer = {name: other for name, other in value.items() if name not in GIVEN}
    else:
        asked = value
    return (asked, answer) if answer else _beside(asked)


def _is_answer(value: dict[str, Any]) -> bool:
    """Whether an object is what an API answers, with what was asked added to it."""
    output = value.get("output")
    alone = "output" in value and "messages" not in value and not isinstance(output, str)
    return "choices" in value or alone or shapes.says(output)


def _beside(asked: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same, where the answer is no object of an API."""
    for name in _ANSWERS:
        given = asked.get(name)
        if (given and isinstance(given, str)) or shapes.says(given):
            answer = {"role": "assistant", "content": given} if isinstance(given, str) else {"output": given}
            return {other: value for other, value in asked.items() if other != name}, answer
    return asked, {}
