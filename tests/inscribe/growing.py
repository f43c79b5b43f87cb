"""Sessions of agents that write them anew whenever they grow: one conversation in several formats, at any moment."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.sources.gemini import chats

SAID = (
    "Where does the light come from?",
    "From the lamp, which turns once a minute. Shall I look it up?",
    "Yes, and tell me who trims the wick.",
    "The keeper does,\n\nevery evening before dusk.  ",
    "Thank you. And in fog?",
    "Then the horn is sounded, too.",
)
"""In turns: a person, then the agent."""

Moment = tuple[int, int]
"""How many messages are there, and how many characters of the last one."""
Form = Callable[[Sequence[str]], bytes]


def at(moment: Moment) -> list[str]:
    """What was said up to a moment; prompts are there at once."""
    count, length = moment
    said = list(SAID[:count])
    if count % 2 == 0:
        said[-1] = said[-1][: max(1, length)]
    return said


def moments() -> st.SearchStrategy[list[Moment]]:
    """Moments in the order of time."""
    one = st.tuples(st.integers(1, len(SAID)), st.integers(1, max(map(len, SAID))))
    return st.lists(one, min_size=1, max_size=4, unique=True).map(sorted)


def whole() -> st.SearchStrategy[list[Moment]]:
    """The same, from the first answer on and without a moment at which a message is unfinished."""
    return st.lists(st.integers(2, len(SAID)), min_size=1, max_size=4, unique=True).map(
        lambda counts: [(count, 1000) for count in sorted(counts)]
    )


def opencode(said: Sequence[str]) -> bytes:
    def message(number: int, text: str) -> dict[str, Any]:
        own = f"msg_{number:03d}"
        info = {"id": own, "sessionID": "ses_grown", "role": "assistant" if number % 2 else "user"}
        info |= {"time": {"created": 1780000000000 + number}, "tokens": {"output": len(text)}}
        return {"info": info, "parts": [{"id": f"prt_{number:03d}", "messageID": own, "type": "text", "text": text}]}

    about = {"id": "ses_grown", "title": f"Of {len(said)}", "directory": "/proj/light", "version": "1"}
    messages = [message(number, text) for number, text in enumerate(said)]
    return json.dumps({"info": about, "messages": messages}, separators=(",", ":")).encode()


def gemini(said: Sequence[str]) -> bytes:
    made = [(chats.answer if n % 2 else chats.user)(n, text) for n, text in enumerate(said)]
    return chats.document(made, lastUpdated=chats.at(sum(map(len, said))))


def atif(said: Sequence[str]) -> bytes:
    head = {"schema_version": "ATIF-v1.7", "session_id": "run 7", "agent": {"name": "keeper", "version": "1"}}
    steps = [
        {"step_id": number, "source": "user" if number % 2 else "agent", "message": text}
        for number, text in enumerate(said, 1)
    ]
    return json.dumps(head | {"steps": steps, "final_metrics": {"total_steps": len(said)}}, indent=2).encode()


def chat(said: Sequence[str]) -> bytes:
    messages = [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(said)]
    return json.dumps({"id": "chat-7", "model": "gpt-5", "messages": messages}).encode()


FORMS: dict[str, Form] = {"opencode": opencode, "gemini": gemini, "atif": atif}
"""Formats whose messages have names, so that a finished one is known again."""
