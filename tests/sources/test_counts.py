"""Counts of tokens that are none: they count nothing, and what they stand beside is read, stored and found again."""

import json
from pathlib import Path
from typing import Any

import pytest

from muniment import check, sources
from muniment.model import Facts, Round
from muniment.sources.lines import records
from muniment.store import rounds as stored

AT = "2026-07-01T10:00:00.000Z"
SESSION = "01b00000-0000-4000-8000-000000000001"


def lines(*objects: Any) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in objects)


def atif(odd: Any) -> bytes:
    steps = [
        {"step_id": 1, "source": "user", "message": "go"},
        {"step_id": 2, "source": "agent", "message": "Yes.", "metrics": {"completion_tokens": odd}},
    ]
    head = {"schema_version": "ATIF-v1.7", "session_id": "run 7", "agent": {"name": "keeper", "version": "1"}}
    return json.dumps(head | {"steps": steps}).encode()


def codex(odd: Any) -> bytes:
    def item(role: str, kind: str, text: str) -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    usage = {"input_tokens": odd, "output_tokens": odd, "total_tokens": odd}
    told = [
        ("session_meta", {"id": SESSION, "timestamp": AT, "cwd": "/w", "originator": "x", "cli_version": "1"}),
        ("response_item", item("user", "input_text", "go")),
        ("response_item", item("assistant", "output_text", "Yes.")),
        ("event_msg", {"type": "token_count", "info": {"total_token_usage": usage, "last_token_usage": usage}}),
    ]
    return lines(*({"timestamp": AT, "type": type_, "payload": payload} for type_, payload in told))


def copilot(odd: Any) -> bytes:
    told = [
        ("session.start", {"sessionId": SESSION}),
        ("user.message", {"content": "go"}),
        ("assistant.message", {"messageId": "m1", "content": "Yes.", "outputTokens": odd}),
    ]
    ids = [f"01b00000-0000-4000-8000-00000000000{number}" for number in range(len(told))]
    return lines(
        *(
            {"type": type_, "data": data, "id": id_, "timestamp": AT, "parentId": None}
            for id_, (type_, data) in zip(ids, told, strict=True)
        )
    )


def opencode(odd: Any) -> bytes:
    def message(role: str, text: str, **info: Any) -> dict[str, Any]:
        about = {"id": f"msg_{role}", "role": role, "sessionID": "ses_1", "time": {"created": 1}}
        return {"info": about | info, "parts": [{"id": f"prt_{role}", "type": "text", "text": text}]}

    about = {"parentID": "msg_user", "modelID": "m", "providerID": "p"}
    tokens = {"input": odd, "output": odd, "cache": {"read": odd}}
    said = [message("user", "go"), message("assistant", "Yes.", **about, tokens=tokens)]
    return json.dumps({"info": {"id": "ses_1", "slug": "x", "version": "1"}, "messages": said}).encode()


@pytest.mark.parametrize("odd", [True, 1 << 70, -5, "9", 2.5])
@pytest.mark.parametrize("made", [atif, codex, copilot, opencode])
def test_a_count_that_is_none_counts_nothing_and_costs_nothing(tmp_path: Path, made: Any, odd: Any) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(made(odd))
    (found,) = sources.find_in(path, {"HOME": "/nowhere"})
    assert found.source == made.__name__
    source = sources.named(found.source)
    facts = Facts(found.session_id, found.source, native_id=found.native_id)
    rounds = list(source.read(records(source.open(path.name, [path.read_bytes()])), facts))
    assert [_shown(stored.decode(stored.encode(round_))) for round_ in rounds] == [_shown(round_) for round_ in rounds]
    assert sum(round_.token_count for round_ in rounds) == 0
    assert [result.lossless for result in check.check_found(found)] == [True]


def _shown(round_: Round) -> tuple[int, int]:
    return round_.token_count, len(round_.blocks())
