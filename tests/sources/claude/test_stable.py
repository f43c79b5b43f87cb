"""A session that is written and read again gives the same document, whatever stands in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.model import Round
from muniment.sources.base import Move
from muniment.sources.claude import SOURCE
from muniment.store import document

from .transcripts import Transcript, call, fold, read, say

Step = Callable[[Transcript, int], Any]

INTERRUPTED = "[Request interrupted by user]"
NOTICE = "<task-notification>\n<task-id>b1</task-id>\n</task-notification>"


def inside(agent: dict[str, str], content: Any) -> Step:
    """A record of a subagent that an old program wrote into the main file."""
    return lambda t, n: t.user(content, isSidechain=True, **agent)


def answer_inside(agent: dict[str, str]) -> Step:
    return lambda t, n: t.answer(f"side{n}", say("inside"), isSidechain=True, **agent)


def searched(t: Transcript, n: int) -> None:
    """A search that the service runs itself: call and result are parts of the answer."""
    given_back = {"type": "web_search_tool_result", "tool_use_id": f"srv{n}", "content": [{"title": "T", "url": "u"}]}
    t.answer(f"m{n}", {"type": "server_tool_use", "id": f"srv{n}", "name": "web_search", "input": {"query": "q"}})
    t.answer(f"m{n}", given_back)
    t.answer(f"m{n}", say("found"))


def worked(t: Transcript, n: int) -> None:
    t.answer(f"m{n}", call(f"t{n}"))
    t.result(f"t{n}")


AGENT = {"agentId": "a1"}
STEPS: dict[str, Step] = {
    "prompt": lambda t, n: t.user(f"go {n}"),
    "prompt of parts": lambda t, n: t.user([say(f"go {n}"), say("and on")]),
    "answer": lambda t, n: t.answer(f"m{n}", say("done"), output=n),
    "call without a result": lambda t, n: t.answer(f"m{n}", call(f"t{n}")),
    "call and result": worked,
    "result of nothing": lambda t, n: t.result(f"gone{n}"),
    "web search": searched,
    "interruption": lambda t, n: t.user([say(INTERRUPTED)]),
    "API error": lambda t, n: t.chain("system", subtype="api_error", error={"message": "overloaded"}, level="error"),
    "away": lambda t, n: t.chain("system", subtype="away_summary", content="while you were away"),
    "command": lambda t, n: t.user("<command-name>/clear</command-name>"),
    "command output": lambda t, n: t.user("<local-command-stdout>ok</local-command-stdout>"),
    "injected": lambda t, n: t.user("a skill", isMeta=True),
    "message of another session": lambda t, n: t.user("hello from there", origin={"kind": "peer"}),
    "queued words": lambda t, n: t.attach("queued_command", prompt=f"also {n}", commandMode="prompt"),
    "queued notice": lambda t, n: t.attach("queued_command", prompt=NOTICE, commandMode="task-notification"),
    "queued message": lambda t, n: t.attach("queued_command", prompt="from there", origin={"kind": "peer"}),
    "enqueue": lambda t, n: t.meta("queue-operation", operation="enqueue", content=f"typed {n}", timestamp="2026"),
    "remove": lambda t, n: t.meta("queue-operation", operation="remove", timestamp="2026"),
    "attachment": lambda t, n: t.attach("todo_reminder", content=[]),
    "progress": lambda t, n: t.chain("progress", data={"type": "hook_progress"}),
    "progress inside": lambda t, n: t.chain("progress", data={"type": "agent_progress"}, isSidechain=True, **AGENT),
    "mode": lambda t, n: t.meta("mode", mode="normal"),
    "compaction": lambda t, n: t.chain("system", subtype="compact_boundary", content="Conversation compacted"),
    "summary": lambda t, n: t.user("the summary", isCompactSummary=True, isVisibleInTranscriptOnly=True),
    "subagent prompt": inside(AGENT, "look there"),
    "subagent answer": answer_inside(AGENT),
    "subagent interrupted": inside(AGENT, [say(INTERRUPTED)]),
    "unnamed subagent prompt": inside({}, "look there"),
    "unnamed subagent answer": answer_inside({}),
    "unnamed subagent interrupted": inside({}, [say(INTERRUPTED)]),
}


def render(rounds: list[Round]) -> str:
    return "\n---\n".join(document.render_message(m, "x") for r in rounds for m in r.messages if not m.silent)


@settings(max_examples=600)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=14))
def test_what_is_written_reads_as_the_same_document(steps: list[str]) -> None:
    transcript = Transcript()
    for number, step in enumerate(steps):
        STEPS[step](transcript, number)
    rounds = transcript.rounds()
    media = {name: content for r in rounds for name, content in r.media.items()}
    written = b"".join(SOURCE.write(rounds, fold(rounds), Move(), media.__getitem__, []))
    assert render(read(written)) == render(rounds)
