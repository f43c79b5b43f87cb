"""The laws over real rollouts, where they lie beside the project."""

import json
from pathlib import Path
from typing import Any

import pytest

from muniment import check
from muniment.model import Tool
from muniment.model.rounds import text_of
from muniment.sources.base import Move, head_of
from muniment.sources.codex import SOURCE

from .rollouts import FACTS, facts_before, lines, media_of, places, read, seen

pytestmark = pytest.mark.corpus


@pytest.fixture(scope="session")
def rollouts(corpus: Path) -> dict[str, bytes]:
    folder = corpus / "codex"
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


CALLS = {
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "web_search_call",
    "tool_search_call",
    "image_generation_call",
}


def told(data: bytes) -> list[dict[str, Any]]:
    """The records of a file of any era in the envelope of today, without the reader: the head is the first."""
    try:
        document = json.loads(data)
    except ValueError:
        return [_enveloped(json.loads(line)) for line in data.split(b"\n") if line.strip()]
    if "items" not in document:
        return [_enveloped(document)]
    return [_enveloped(record) for record in (document["session"], *document["items"])]


def _enveloped(record: dict[str, Any]) -> dict[str, Any]:
    if "payload" in record:
        return record
    kind = "response_item" if record.keys() & {"role", "type"} else "session_meta"
    return {"type": kind, "payload": {"type": "message"} | record if kind == "response_item" else record}


def items_of(data: bytes) -> list[dict[str, Any]]:
    """What was said and done. Events may have a name like a call's and repeat one."""
    items = (record["payload"] for record in told(data) if record["type"] == "response_item")
    return [part for item in items for part in _split_chat(item)]


def _split_chat(item: dict[str, Any]) -> list[dict[str, Any]]:
    """A message of a chat, as clients for other providers wrote them, in the items of today."""
    if item.get("role") == "tool":
        return [{"type": "function_call_output", "call_id": item["tool_call_id"], "output": item["content"]}]
    thoughts = [{"type": "reasoning"}] if item.get("reasoning") or item.get("reasoning_content") else []
    calls = [
        {"type": "function_call", "call_id": call["id"], **call["function"]} for call in item.get("tool_calls") or ()
    ]
    return [*thoughts, item, *calls]


def test_exactly_the_rollouts_are_recognised(corpus: Path) -> None:
    paths = [path for path in corpus.rglob("*") if path.is_file()]
    claimed = {path for path in paths if SOURCE.matches(path, head_of(path))}
    assert claimed == {path for path in paths if path.is_relative_to(corpus / "codex")}


def test_the_session_is_the_thread_of_the_first_head(corpus: Path) -> None:
    paths = [path for path in (corpus / "codex").rglob("*") if path.is_file()]
    for path, found in zip(paths, SOURCE.gather(paths, corpus, ()), strict=True):
        assert found.session_id == told(path.read_bytes())[0]["payload"]["id"], path


def test_every_record_is_represented(rollouts: dict[str, bytes]) -> None:
    for name, data in rollouts.items():
        known = set[int]().union(*(places(round_) for round_ in read(data)))
        assert {record.offset for record in SOURCE.objects(lines(data))} <= known, name


def test_prompts_are_what_the_client_calls_a_human_message(rollouts: dict[str, bytes]) -> None:
    """A human who speaks while a turn runs steers it: such words are queued in its round and open none."""
    for name, data in rollouts.items():
        rounds = read(data)
        facts = facts_before(rounds)[-1]
        said = [record["payload"].get("message") for record in told(data) if _kind(record) == "user_message"]
        queued = [message for round_ in rounds for message in round_.messages if message.queued]
        if said:
            assert facts.prompts + len(queued) == len(said), name
            heard = [text_of(m) for round_ in rounds for m in round_.messages if m.role == "user"]
            assert all(one in other for one, other in zip(said, heard, strict=True)), name
        assert facts.problems == 0, name


def test_a_file_without_events_has_the_prompts_that_its_items_tell(rollouts: dict[str, bytes]) -> None:
    for name, data in rollouts.items():
        if any(_kind(record) == "user_message" for record in told(data)):
            continue
        said = [item for item in items_of(data) if item.get("role") == "user" and not _is_put_in(item)]
        assert sum(m.role == "user" for round_ in read(data) for m in round_.messages) == len(said), name


def _kind(record: dict[str, Any]) -> Any:
    return record["payload"].get("type") if record["type"] == "event_msg" else None


def _is_put_in(item: dict[str, Any]) -> bool:
    """Whether the program wrote a message: all such messages of old clients stand in tags."""
    texts = [part.get("text", "") for part in item["content"] if isinstance(part, dict)]
    return all(text.lstrip().startswith("<") and text.rstrip().endswith(">") for text in texts)


def test_every_call_is_a_tool_with_its_output(rollouts: dict[str, bytes]) -> None:
    for name, data in rollouts.items():
        tools = [b for r in read(data) for b in r.blocks() if isinstance(b, Tool)]
        items = items_of(data)
        calls = sum(item["type"] in CALLS for item in items)
        outputs = sum(item["type"].endswith("_output") for item in items)
        assert len(tools) == calls, name
        assert sum(tool.result is not None for tool in tools) == outputs, name


def test_tokens_agree_with_the_total_of_the_client(rollouts: dict[str, bytes]) -> None:
    for name, data in rollouts.items():
        infos = [record["payload"].get("info") for record in told(data) if _kind(record) == "token_count"]
        totals = [info["total_token_usage"]["total_tokens"] for info in infos if info]
        assert facts_before(read(data))[-1].tokens == (totals[-1] if totals else 0), name


def test_reading_may_begin_at_any_round(rollouts: dict[str, bytes]) -> None:
    for name, data in rollouts.items():
        rounds = read(data)
        before = facts_before(rounds)
        for k in range(1, len(rounds)):
            assert read(data, before[k], rounds[k].offset) == rounds[k:], name


def test_a_growing_file_never_changes_a_closed_round(rollouts: dict[str, bytes]) -> None:
    for name, data in rollouts.items():
        rounds = read(data)
        for cut in range(len(data) // 7, len(data), len(data) // 7 + 1):
            closed = read(data[:cut])[:-1]
            assert closed == rounds[: len(closed)], name


def test_a_rewritten_session_is_the_same(rollouts: dict[str, bytes]) -> None:
    for name, data in rollouts.items():
        rounds = read(data)
        media = media_of(rounds).__getitem__
        again = b"".join(SOURCE.write(iter(rounds), facts_before(rounds)[-1], Move(), media, []))
        assert seen(read(again, FACTS)) == seen(rounds), name


def test_the_very_arguments_and_outputs_are_written(rollouts: dict[str, bytes]) -> None:
    fields = ("type", "call_id", "name", "arguments", "input", "output", "encrypted_content")

    def found(data: bytes) -> list[str]:
        kept = [item for item in items_of(data) if "_call" in item["type"] or item["type"] == "reasoning"]
        return sorted(json.dumps([item.get(field) for field in fields]) for item in kept)

    for name, data in rollouts.items():
        rounds = read(data)
        media = media_of(rounds).__getitem__
        again = b"".join(SOURCE.write(iter(rounds), facts_before(rounds)[-1], Move(), media, []))
        assert found(again) == found(data), name


def test_nothing_of_the_conversation_is_lost_on_any_road(corpus: Path) -> None:
    paths = [path for path in (corpus / "codex").rglob("*") if path.is_file()]
    for found in SOURCE.gather(paths, corpus, ()):
        for checked in check.check_found(found):
            assert checked.lossless, checked
