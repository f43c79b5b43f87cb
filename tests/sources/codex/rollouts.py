"""Rollouts for tests: reading them, comparing what a person sees, and making them up."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from muniment.model import Block, Compaction, Facts, Media, Message, Round, Text, Thinking, Tool, Unknown, codec
from muniment.sources.codex import SOURCE
from muniment.sources.lines import Record, records

SESSION = "01a00000-0000-7000-8000-000000000001"
FACTS = Facts(SESSION, "codex")
CASES = sorted(Path(__file__).parent.glob("*/input.*"))


def read(data: bytes, facts: Facts = FACTS, offset: int = 0) -> list[Round]:
    """The rounds from a place in a file on."""
    return list(SOURCE.read(records([data[offset:]], offset), facts))


def facts_before(rounds: Iterable[Round], facts: Facts = FACTS) -> list[Facts]:
    """The facts before each round, and those after the last."""
    found = [facts]
    for round_ in rounds:
        found.append(found[-1].after(round_))
    return found


def media_of(rounds: Iterable[Round]) -> dict[str, bytes]:
    return {name: content for round_ in rounds for name, content in round_.media.items()}


def places(round_: Round) -> set[int]:
    """Where the records lie that a round's blocks come from."""
    results = {b.result.offset for b in round_.blocks() if isinstance(b, Tool) and b.result}
    return {block.ref.offset for block in round_.blocks()} | results


def lines(data: bytes) -> list[Record]:
    return [record for record in records([data]) if record.raw.strip()]


def seen(rounds: Iterable[Round]) -> list[Any]:
    """What must survive a rewriting: everything but refs, ids of responses and what happened around."""
    return [(r.number, r.prompted, [found for m in r.messages if (found := _message(m))]) for r in rounds]


def _message(message: Message) -> tuple[Any, ...] | None:
    blocks = [found for block in message.blocks if (found := _block(block))]
    raw = {name: note for name, note in (message.raw or {}).items() if name not in ("usage", "phases")}
    if not blocks and not message.usage:
        return None
    return (message.role, message.at, message.model, message.queued, message.cwd, message.usage, raw, blocks)


def _block(block: Block) -> tuple[Any, ...] | None:
    match block:
        case Text(text):
            return ("text", text)
        case Thinking(text, signature):
            return ("thinking", text, signature)
        case Media(name, media_type):
            return ("media", name, media_type)
        case Tool():
            output = None if block.output is None else [_block(part) for part in block.output]
            return ("tool", block.id, block.name, codec.encode(block.input), output)
        case Compaction(text):
            return ("compaction", text)
        case Unknown(kind, value):
            return None if block.damage else ("unknown", kind, codec.encode(value))
        case _:
            return None


# -- made-up rollouts

WORDS = ("hello", "go on", "<environment_context>x", "# AGENTS.md instructions for /w", "<novel_tag>", "Warning: x")


def line(type_: str, payload: Any, **envelope: Any) -> bytes:
    return json.dumps({"timestamp": "2026-01-02T03:04:05.000Z", **envelope, "type": type_, "payload": payload}).encode()


def event(kind: str, **fields: Any) -> bytes:
    return line("event_msg", {"type": kind, **fields})


def item(kind: str, **fields: Any) -> bytes:
    return line("response_item", {"type": kind, **fields})


def message(role: str, words: str) -> bytes:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": words}])


def report(total: int, last: int) -> bytes:
    info = {
        "total_token_usage": {"input_tokens": total, "total_tokens": total},
        "last_token_usage": {"input_tokens": last},
    }
    return event("token_count", info=info)


words = st.sampled_from(WORDS)
call_ids = st.sampled_from(("c1", "c2", "c3"))
any_record = st.one_of(
    st.builds(lambda w: message("user", w), words),
    st.builds(lambda w: event("user_message", message=w), words),
    st.builds(lambda w: message("assistant", w), words),
    st.builds(lambda w: event("agent_message", message=w), words),
    st.builds(lambda w: message("developer", w), words),
    st.builds(lambda c: item("function_call", name="f", arguments="{}", call_id=c), call_ids),
    st.builds(lambda c: item("function_call_output", call_id=c, output="o"), call_ids),
    st.builds(report, st.integers(0, 30), st.integers(0, 10)),
    st.builds(lambda m: line("turn_context", {"model": m, "cwd": f"/{m}"}), st.sampled_from(("a", "b"))),
    st.builds(lambda v: line("session_meta", {"id": SESSION, "cwd": "/w", "cli_version": v}), st.sampled_from("12")),
    st.sampled_from(
        [
            event("task_started"),
            event("task_complete"),
            event("turn_aborted", reason="interrupted"),
            event("agent_reasoning", text="Hm"),
            event("thread_name_updated", thread_name="A name"),
            event("thread_settings_applied"),
            event("error", message="no"),
            item("reasoning", summary=[], encrypted_content="sealed"),
            item("web_search_call", status="completed"),
            item("novelty"),
            item("message", role="assistant", content=[]),
            item("message", role="user", content=[]),
            line("compacted", {"message": "short"}),
            line("world_state", {}),
            b'{"torn',
            b"",
            b"null",
        ]
    ),
)
rollouts = st.lists(any_record, max_size=40).map(lambda found: b"\n".join(found) + b"\n")


# -- made-up conversations as a client writes them


@st.composite
def conversations(draw: st.DrawFn) -> bytes:
    """Turns with answers of every kind; old clients report tokens before a response, new ones behind it. A response
    that is broken off reports none, and the total of a fork begins with the tokens of another session."""
    early, turns = draw(st.booleans()), draw(st.integers(1, 4))
    written = [line("session_meta", {"id": SESSION, "cwd": "/w", "cli_version": "1", "source": "cli"})]
    total = draw(st.sampled_from((0, 0, 100)))
    for number in range(turns):
        written += [] if early else [event("task_started", turn_id=str(number))]
        written.append(line("turn_context", {"model": draw(st.sampled_from(("a", "b"))), "cwd": "/w"}))
        written += _asked(draw)
        for step in range(draw(st.integers(0, 3))):
            said, given = _response(draw, f"{number}-{step}")
            total += (last := draw(st.integers(1, 9)))
            written += [report(total, last), *said, *given] if early else [*said, report(total, last), *given]
            written += draw(st.sampled_from([[], [], [], _SHORTENED, _NOTICE, *_EMPTY]))
            written += _asked(draw) if not early and draw(st.integers(0, 5)) == 0 else []
        if not early and draw(st.integers(0, 3)) == 0:
            said, given = _response(draw, f"{number}-broken")
            total += draw(st.integers(0, 9))
            written += [*said, *given]
        written += [] if early else [draw(st.sampled_from(_ENDS))]
    return b"\n".join(written) + b"\n"


_ENDS = [event("task_complete"), event("turn_aborted", reason="interrupted")]
_SHORTENED = [line("compacted", {"message": "short", "replacement_history": []})]
_NOTICE = [message("user", "<subagent_notification>\ndone\n</subagent_notification>")]
_EMPTY = [[item("message", role=role, content=[])] for role in ("user", "assistant")]
texts = st.text(st.characters(codec="utf-8"), max_size=8)


def _asked(draw: st.DrawFn) -> list[bytes]:
    said = draw(texts)
    return [message("user", said), event("user_message", message=said)]


def _response(draw: st.DrawFn, name: str) -> tuple[list[bytes], list[bytes]]:
    """The items of a response, at least one, and the outputs that follow."""
    said: list[bytes] = []
    if draw(st.booleans()):
        thought = draw(texts)
        summary = [{"type": "summary_text", "text": thought}] if thought else []
        said.append(item("reasoning", summary=summary, encrypted_content=draw(texts) or None))
    if draw(st.booleans()):
        answer = draw(texts)
        said += [event("agent_message", message=answer), message("assistant", answer)]
    given: list[bytes] = []
    for number in range(draw(st.integers(0 if said else 1, 2))):
        call, output = _call(draw, f"c{name}-{number}")
        said.append(call)
        given += [output] if draw(st.integers(0, 9)) else []
    return said, given


def _call(draw: st.DrawFn, name: str) -> tuple[bytes, bytes]:
    output: Any = draw(texts | st.builds(lambda said: [{"type": "input_text", "text": said}], texts))
    if draw(st.booleans()):
        call = item("custom_tool_call", status="completed", name="apply_patch", input=draw(texts), call_id=name)
        return call, item("custom_tool_call_output", call_id=name, output=output)
    arguments = draw(st.sampled_from(("{}", '{"a": 1}', '{"b":[1.50,"é"],"a":null}', "not JSON", "[1]", '"x"')))
    call = item("function_call", name="f", arguments=arguments, call_id=name)
    return call, item("function_call_output", call_id=name, output=output)
