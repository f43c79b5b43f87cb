"""What holds for every transcript that can be made up."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.model import Tool

from .transcripts import FACTS, OTHER, SESSION, call, read, say

ids = st.sampled_from([f"r{number}" for number in range(12)])
agents = st.sampled_from(["m1", "m2", "m3"])
calls = st.sampled_from(["t1", "t2"])
words = st.sampled_from(["go", "<local-command-stdout>x</local-command-stdout>", "[Request interrupted by user]", ""])


def line(type_: str, uuid: str, parent: str | None, about: dict[str, Any], **fields: Any) -> bytes:
    record = {"type": type_, "uuid": uuid, "parentUuid": parent, "sessionId": SESSION, **about, **fields}
    return json.dumps(record).encode()


def user(content: Any) -> dict[str, Any]:
    return {"message": {"role": "user", "content": content}}


def answer(id_: str, part: dict[str, Any], tokens: int) -> dict[str, Any]:
    return {"message": {"id": id_, "content": [part], "usage": {"output_tokens": tokens}}}


about = st.fixed_dictionaries(
    {},
    optional={
        "cwd": st.sampled_from(["/a", "/b"]),
        "gitBranch": st.sampled_from(["main", "side"]),
        "version": st.sampled_from(["1", "2"]),
        "isSidechain": st.booleans(),
        "sessionId": st.sampled_from([SESSION, OTHER]),
        "session_id": st.sampled_from([SESSION, OTHER]),
        "isMeta": st.just(True),
        "timestamp": st.sampled_from(["2026-01-02T03:04:05.000Z", "2026-01-02T03:04:06.000Z"]),
    },
)
parents = st.none() | ids
chain = st.one_of(
    st.builds(lambda u, p, a, w: line("user", u, p, a, **user(w)), ids, parents, about, words),
    st.builds(
        lambda u, p, a, t: line("user", u, p, a, **user([{"type": "tool_result", "tool_use_id": t, "content": "o"}])),
        ids, parents, about, calls,
    ),
    st.builds(
        lambda u, p, a, m, t, n: line("assistant", u, p, a, **answer(m, call(t), n)),
        ids, parents, about, agents, calls, st.integers(0, 9),
    ),
    st.builds(
        lambda u, p, a, m, n: line("assistant", u, p, a, **answer(m, say("x"), n)),
        ids, parents, about, agents, st.integers(0, 9),
    ),
    st.builds(
        lambda u, p, a: line("attachment", u, p, a, attachment={"type": "queued_command", "prompt": "and"}),
        ids, parents, about,
    ),
    st.builds(lambda u, p, a: line("system", u, p, a, subtype="compact_boundary"), ids, parents, about),
)  # fmt: skip
other = st.sampled_from([b"", b"null", b'{"torn', b'{"type":"mode"}', b'{"type":"custom-title","customTitle":"t"}'])
human = [line("user", f"p{number}", None, {}, **user("go")) for number in range(3)]
transcripts = (
    st.lists(chain | other, max_size=12)
    .flatmap(lambda pool: st.lists(st.sampled_from([*human, *pool]), max_size=25))
    .map(lambda found: b"\n".join(found) + b"\n")
)
"""Lines come again, as they do in real files, and prompts are never rare."""


@settings(max_examples=400)
@given(transcripts)
def test_reading_may_begin_at_any_round(data: bytes) -> None:
    rounds = read(data)
    facts = FACTS
    for k, round_ in enumerate(rounds):
        assert read(data, facts, round_.offset, rounds[:k]) == rounds[k:]
        facts = facts.after(round_)


@settings(max_examples=200)
@given(transcripts)
def test_every_record_has_its_place_in_a_round(data: bytes) -> None:
    places: set[int] = set()
    for round_ in read(data):
        places |= {block.ref.offset for block in round_.blocks()}
        places |= {block.result.offset for block in round_.blocks() if isinstance(block, Tool) and block.result}
    at = 0
    for raw in data.split(b"\n"):
        assert not raw.strip() or at in places, raw
        at += len(raw) + 1


@settings(max_examples=100)
@given(transcripts, transcripts)
def test_a_growing_file_never_changes_a_closed_round(data: bytes, more: bytes) -> None:
    closed = read(data)[:-1]
    assert read(data + more)[: len(closed)] == closed


@settings(max_examples=200)
@given(transcripts)
def test_every_message_says_something(data: bytes) -> None:
    """A prompt of no words is one; every other message came to be because of a block."""
    for round_ in read(data):
        assert all(message.blocks for message in round_.messages)
