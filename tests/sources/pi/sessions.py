"""Sessions of pi for tests: composing them, reading them, and making them up."""

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from muniment.model import Facts, Loss, Round, Tool
from muniment.sources.base import Move
from muniment.sources.lines import Record, records
from muniment.sources.pi import SOURCE

SESSION = "01a00000-0000-7000-8000-000000000001"
FACTS = Facts(SESSION, "pi")
USAGE = {"input": 3, "output": 4, "cacheRead": 20, "cacheWrite": 5, "totalTokens": 32, "cost": {"total": 0.00001}}
ABOUT = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5", "usage": USAGE}


def lines(*entries: dict[str, Any] | bytes) -> bytes:
    """A file of these entries; bytes stand as they are."""
    made = (e if isinstance(e, bytes) else json.dumps(e, ensure_ascii=False).encode() for e in entries)
    return b"".join(one + b"\n" for one in made)


def header(**more: Any) -> dict[str, Any]:
    return {"type": "session", "version": 3, "id": SESSION, "timestamp": at(0), "cwd": "/proj/app", **more}


def at(second: int) -> str:
    return f"2026-01-02T03:{second // 60:02d}:{second % 60:02d}.000Z"


class Tree:
    """Composes entries, each the child of the one before unless a parent is named."""

    def __init__(self, linear: bool = False) -> None:
        self.linear = linear
        self.entries: list[dict[str, Any] | bytes] = [header()]
        self.last: str | None = None
        if linear:
            self.entries = [{k: v for k, v in header().items() if k != "version"}]

    def add(self, type_: str, parent: str | None = "", **fields: Any) -> str:
        number = len(self.entries)
        id_ = f"{number:08x}"
        place = {} if self.linear else {"id": id_, "parentId": self.last if parent == "" else parent}
        self.entries.append({"type": type_, **place, "timestamp": at(number), **fields})
        self.last = id_
        return id_

    def user(self, content: Any, **more: Any) -> str:
        return self.add("message", message={"role": "user", "content": content, "timestamp": 1}, **more)

    def answer(self, *content: dict[str, Any], stop: str = "stop", **more: Any) -> str:
        message = {"role": "assistant", "content": list(content), **ABOUT, "stopReason": stop, "timestamp": 2, **more}
        return self.add("message", message=message)

    def result(self, call: str, text: str, failed: bool = False, **more: Any) -> str:
        said = {"toolCallId": call, "toolName": "bash", "content": [words(text)], "isError": failed, "timestamp": 3}
        return self.add("message", message={"role": "toolResult", **said, **more})

    @property
    def data(self) -> bytes:
        return lines(*self.entries)


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def call(id_: str, command: str, **more: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": id_, "name": "bash", "arguments": {"command": command}, **more}


def read(data: bytes, facts: Facts = FACTS, offset: int = 0) -> list[Round]:
    """The rounds from a place in a file on."""
    return list(SOURCE.read(records([data[offset:]], offset), facts))


def facts_before(rounds: Iterable[Round], facts: Facts = FACTS) -> list[Facts]:
    """The facts before each round, and those after the last."""
    found = [facts]
    for round_ in rounds:
        found.append(found[-1].after(round_))
    return found


def write(
    rounds: list[Round], facts: Facts = FACTS, move: Move | None = None
) -> tuple[list[dict[str, Any]], list[Loss]]:
    """The entries of a written session, and what it could not carry."""
    media = {name: content for round_ in rounds for name, content in round_.media.items()}
    losses: list[Loss] = []
    last = facts_before(rounds, facts)[-1]
    made = b"".join(SOURCE.write(iter(rounds), last, move or Move(), media.__getitem__, losses))
    assert made.endswith(b"\n")
    return [json.loads(line) for line in made.splitlines()], losses


def places(round_: Round) -> set[int]:
    """Where the records lie that a round's blocks come from."""
    results = {b.result.offset for b in round_.blocks() if isinstance(b, Tool) and b.result}
    return {block.ref.offset for block in round_.blocks()} | results


def records_of(data: bytes) -> list[Record]:
    return [record for record in records([data]) if record.raw.strip()]


# -- made-up sessions

ids = st.sampled_from(["a1", "a2", "a3", None])
contents = st.sampled_from(
    [
        "hi",
        [words("hi")],
        [words("a"), {"type": "image", "data": "aGk=", "mimeType": "image/png"}],
        [{"type": "image", "data": "not base64", "mimeType": "image/png"}],
        [{"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}, call("c1", "ls", thoughtSignature="t")],
        [call("c1", "ls"), call("c2", "pwd")],
        [{"type": "novel", "x": 1}, 5, None],
        [],
        None,
        7,
    ]
)
roles = st.sampled_from(["user", "user", "assistant", "toolResult", "bashExecution", "custom", "novel"])
messages = st.fixed_dictionaries(
    {"role": roles, "content": contents},
    optional={
        "stopReason": st.sampled_from(["stop", "toolUse", "aborted"]),
        "toolCallId": st.sampled_from(["c1", "c2", "c9"]),
        "isError": st.booleans() | st.none(),
        "usage": st.sampled_from([USAGE, {}, {"input": -1, "output": "x"}, None]),
        "model": st.sampled_from(["claude-x", 5]),
        "errorMessage": st.just("broke off"),
        "command": st.just("ls"),
        "output": st.just("a.txt"),
        "details": st.just({"diff": "+1"}),
    },
)
types = st.sampled_from(["message"] * 8 + ["compaction", "branch_summary", "custom", "label", "session_info", "novel"])
entries = st.fixed_dictionaries(
    {"type": types, "timestamp": st.integers(0, 99).map(at), "id": ids, "parentId": ids, "message": messages},
    optional={"summary": st.just("so far"), "name": st.just("Name"), "customType": st.just("x"), "data": st.just([1])},
)
sessions = st.lists(entries | st.just(b"{broken"), max_size=25).map(lambda made: lines(header(), *made))
