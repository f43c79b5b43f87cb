"""Sessions of Gemini CLI for tests: composing them in every form, reading them, and making them up."""

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from muniment.model import Facts, Round, Tool
from muniment.sources.gemini import SOURCE
from muniment.sources.lines import Record, records

SESSION = "01a00000-0000-4000-8000-000000000001"
FACTS = Facts(SESSION, "gemini")
HASH = "5f" * 32
TOKENS = {"input": 100, "output": 10, "cached": 60, "thoughts": 7, "tool": 2, "total": 119}
CONTEXT = "<session_context>\nIt is Monday.\n- **Workspace Directories:**\n  - /proj/app\n</session_context>"


def lines(*objects: dict[str, Any] | bytes) -> bytes:
    """A file with one object on each line; bytes stand as they are."""
    made = (o if isinstance(o, bytes) else json.dumps(o, separators=(",", ":")).encode() for o in objects)
    return b"".join(one + b"\n" for one in made)


def document(messages: list[dict[str, Any]], indent: int | None = 2, **more: Any) -> bytes:
    """The old form, as the client wrote it: without a last newline."""
    return json.dumps({**head(), "messages": messages, **more}, indent=indent).encode()


def head(**more: Any) -> dict[str, Any]:
    return {"sessionId": SESSION, "projectHash": HASH, "startTime": at(0), "lastUpdated": at(0), **more}


def at(second: int) -> str:
    return f"2026-01-02T03:{second // 60:02d}:{second % 60:02d}.000Z"


def user(number: int, content: Any, **more: Any) -> dict[str, Any]:
    given = [{"text": content}] if isinstance(content, str) else content
    return {"id": f"m{number}", "timestamp": at(number), "type": "user", "content": given, **more}


def answer(number: int, content: Any, *calls: dict[str, Any], thoughts: Any = (), **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"id": f"m{number}", "timestamp": at(number), "type": "gemini", "content": content}
    made |= {"thoughts": list(thoughts), "tokens": TOKENS, "model": "gemini-2.5-pro"} | more
    return made | ({"toolCalls": list(calls)} if calls else {})


def call(id_: str, output: Any = None, status: str = "success", **more: Any) -> dict[str, Any]:
    made = {"id": id_, "name": "run_shell_command", "args": {"command": f"echo {id_}"}, "status": status, **more}
    return made if output is None else made | {"result": [response(id_, output)]}


def response(id_: str, output: Any) -> dict[str, Any]:
    said = {"output": output} if isinstance(output, str) else output
    return {"functionResponse": {"id": id_, "name": "run_shell_command", "response": said}}


def change(**fields: Any) -> dict[str, Any]:
    return {"$set": fields}


def read(data: bytes, facts: Facts = FACTS, offset: int = 0) -> list[Round]:
    """The rounds from a place in a file on."""
    return list(SOURCE.read(records([data[offset:]], offset), facts))


def facts_before(rounds: Iterable[Round], facts: Facts = FACTS) -> list[Facts]:
    """The facts before each round, and those after the last."""
    found = [facts]
    for round_ in rounds:
        found.append(found[-1].after(round_))
    return found


def places(round_: Round) -> set[int]:
    """Where the records lie that a round's blocks come from."""
    results = {b.result.offset for b in round_.blocks() if isinstance(b, Tool) and b.result}
    return {block.ref.offset for block in round_.blocks()} | results


def objects(data: bytes) -> list[Record]:
    return [record for record in SOURCE.objects(records([data])) if record.raw.strip()]


# -- made-up sessions

contents = st.sampled_from(
    [
        "hi",
        "",
        CONTEXT,
        "/stats",
        "<state_snapshot>so far</state_snapshot>",
        [{"text": "hi"}, {"text": "\n--- Content from referenced files ---"}, {"text": "x"}],
        [{"text": "hm", "thought": True}, {"functionCall": {"id": "c1", "name": "x", "args": {}}}],
        [response("c1", "out")],
        [response("c9", {"a": 1}), {"text": "beside"}],
        [response("c1", "out"), {"inlineData": {"mimeType": "image/png", "data": "aGk="}}],
        [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}],
        [{"novel": 1}, 5],
        {"text": "one part"},
        None,
        7,
    ]
)
calls = st.sampled_from([call("c1", "out"), call("c1"), call("c2", "no", "error"), {"id": "c3"}, 5])
messages = st.builds(
    lambda n, kind, content, made: answer(n, content, *made) | {"type": kind},
    st.integers(0, 9),
    st.sampled_from(["user", "user", "gemini", "gemini", "info", "novel"]),
    contents,
    st.lists(calls, max_size=2),
)
changes = st.sampled_from(
    [change(lastUpdated="x"), change(summary="Name"), {"$rewindTo": "m3"}, head(kind="main"), {"odd": 1}, b"{broken"]
)
lists = st.lists(messages, max_size=4).map(lambda told: change(messages=told, lastUpdated="x"))
chats = st.lists(messages | changes | lists, max_size=20).map(lambda made: lines(head(kind="main"), *made))
documents = st.builds(document, st.lists(messages, max_size=8), st.sampled_from([2, 4, None]))
