"""Sessions that belong together, and one that fills its window twice: what the samples are too few and too short for.

`family` and `filling` write files of an agent below a folder; the tests of lineage and budget look at them, and so do
the pictures.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.builder import ClaudeSession, text, tool

CWD = "/home/ada/lighthouse"
MODEL = "claude-opus-4-5"
FIRST, COPY, FORK, BOTH, NEXT, LAST, LOST = (f"5e{n}00000-0000-4000-8000-000000000000" for n in range(7))
FULL = "f0000000-0000-4000-8000-000000000000"
WINDOWS = (21, 44, 79, 118, 149, 171, 38, 61, None, 83, 112, 139, 166, 29, 47, 58)
"""Thousands of tokens in the window, by round; nothing is recorded of the ninth. Rounds 6 and 13 end with a cut."""
CUTS = (6, 13)


class Dated(ClaudeSession):
    """A session with a clock and a title, whose answers say what they took."""

    def __init__(self, id_: str, start: str, title: str, **fixed: Any) -> None:
        super().__init__(id_, CWD, **({"gitBranch": "timer"} | fixed))
        self.now, self.title = datetime.fromisoformat(start), title

    def chain(self, type_: str, parent: str | None = "last", **fields: Any) -> str:
        self.now += timedelta(seconds=40)
        self.fixed["timestamp"] = self.now.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        return super().chain(type_, parent, **fields)

    def say(self, words: str, window: int | None = 9_000) -> None:
        """An answer with so many tokens in the window, or with nothing said about them."""
        envelope: dict[str, Any] = {"model": MODEL, "id": f"msg_{self.id[:8]}_{len(self.lines):08d}"}
        if window is not None:
            used = {"input_tokens": 12, "cache_creation_input_tokens": 900, "output_tokens": 300}
            envelope["usage"] = used | {"cache_read_input_tokens": window - 1_212}
        self.chain("assistant", message=envelope | {"type": "message", "role": "assistant", "content": [text(words)]})

    def compact(self, words: str) -> None:
        about = {"subtype": "compact_boundary", "content": "Conversation compacted", "level": "info"}
        self.chain("system", **about, isMeta=False, compactMetadata={"trigger": "auto", "preTokens": 170_000})
        self.user(f"This session is being continued from a previous conversation. {words}", isCompactSummary=True)

    def taken_from(self, other: Dated, since: int = 0) -> None:
        """Begin with records of another, as a fork or a resumed copy does."""
        self.lines += [line.replace(other.id.encode(), self.id.encode()) for line in other.lines[since:]]
        self.last = other.last

    def write(self, home: Path, slug: str = "-home-ada-lighthouse") -> Path:
        named = ClaudeSession(self.id)
        named.add({"type": "ai-title", "aiTitle": self.title, "sessionId": self.id})
        path = super().write(home, slug)
        path.write_bytes(self.data + named.data)
        return path


def family(folder: Path) -> None:
    """A session, its subagents, a copy that goes on, a fork, one that joins both, two that follow; and one forked from
    a session that is lost."""
    first = Dated(FIRST, "2026-06-08T09:00:00", "A timer for the lamp")
    _rounds(first, "Build a timer that turns the lamp", "Test it at dusk")
    fork = Dated(FORK, "2026-06-08T09:20:00", "The timer, with a real clock instead")
    fork.taken_from(first)
    _rounds(fork, "Use the clock of the machine instead", "Compare both")
    copy = Dated(COPY, "2026-06-09T08:30:00", "The timer, on the next morning")
    copy.taken_from(first)
    _rounds(copy, "Good morning. Where were we?", "Then fix winter time")
    _rounds(first, "What about winter time?")
    first.now = datetime.fromisoformat("2026-06-08T11:00:00")
    _rounds(first, "Leave that for tomorrow")
    both = Dated(BOTH, "2026-06-10T10:00:00", "Timer and clock in one")
    both.taken_from(copy, -4)
    both.taken_from(fork, -4)
    _rounds(both, "Put both together", "Commit it")
    after = Dated(NEXT, "2026-06-11T09:00:00", "Sunset from the almanac")
    _rounds(after, "Take sunset from the almanac", "Round to minutes", "Write a test for June")
    last = Dated(LAST, "2026-06-12T09:00:00", "Sunset at the poles")
    _rounds(last, "Continue: what if the sun does not set?", "Then leave the lamp on", "Say so in the guide")
    for session in (first, fork, copy, both, after, last):
        session.write(folder)
    for number, task in enumerate(("Find every timer in the code", "Look up the law on lamp times")):
        _subagent(folder, number, task)


def lost(folder: Path) -> None:
    """A session that was forked from one that nobody has."""
    link = {"sessionId": LOST, "messageUuid": "m"}
    session = Dated(
        "5ef00000-0000-4000-8000-000000000000",
        "2026-06-14T09:00:00",
        "Lamp of the pier",
        gitBranch="pier",
        forkedFrom=link,
    )
    _rounds(session, "Go on with the pier")
    session.write(folder)


def _rounds(session: Dated, *prompts: str) -> None:
    for prompt in prompts:
        session.user(prompt)
        call = f"toolu_{session.id[:8]}_{len(session.lines):08d}"
        session.answer(
            tool(call, "Bash", {"command": "pytest -q"}), id_=f"msg_{session.id[:8]}_{len(session.lines):08d}"
        )
        session.result(call, "12 passed", is_error=False)
        session.say("Done, and the tests pass.")


def _subagent(folder: Path, number: int, task: str) -> None:
    side = Dated(FIRST, f"2026-06-08T09:0{number + 1}:30", "", isSidechain=True, agentId=f"a{number}")
    side.user(task)
    side.answer(text("Found it."), id_=f"msg_side_{number:012d}")
    path = folder / "projects" / "-home-ada-lighthouse" / FIRST / "subagents" / f"agent-a{number}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(side.data)


def filling(folder: Path, rounds: int = len(WINDOWS)) -> Dated:
    """A session that was compacted twice; its windows are `WINDOWS`."""
    session = Dated(FULL, "2026-06-15T09:00:00", "The lamp log, from end to end", gitBranch="log")
    for number, window in enumerate(WINDOWS[:rounds], 1):
        session.user(f"Read month {number} of the log")
        session.say(f"Month {number} has no gaps.", window and window * 1_000)
        if number in CUTS:
            session.compact("The log is read up to March.")
    session.write(folder)
    return session
