"""The laws over real rollouts, where they lie beside the project."""

import json
from pathlib import Path

import pytest

from muniment import check
from muniment.model import Tool
from muniment.sources.base import Move, head_of
from muniment.sources.codex import SOURCE

from .rollouts import FACTS, facts_before, lines, media_of, places, read, seen

pytestmark = pytest.mark.corpus


@pytest.fixture(scope="session")
def rollouts(corpus: Path) -> dict[str, bytes]:
    folder = corpus / "codex"
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_exactly_the_rollouts_are_recognised(corpus: Path) -> None:
    paths = [path for path in corpus.rglob("*") if path.is_file()]
    claimed = {path for path in paths if SOURCE.matches(path, head_of(path))}
    assert claimed == {path for path in paths if path.is_relative_to(corpus / "codex")}


def test_the_session_is_the_thread_of_the_first_head(corpus: Path) -> None:
    paths = [path for path in (corpus / "codex").rglob("*") if path.is_file()]
    for path, found in zip(paths, SOURCE.gather(paths, corpus, ()), strict=True):
        assert found.session_id == json.loads(path.read_bytes().split(b"\n")[0])["payload"]["id"]


def test_every_record_is_represented(rollouts: dict[str, bytes]) -> None:
    for name, data in rollouts.items():
        known = set[int]().union(*(places(round_) for round_ in read(data)))
        assert {record.offset for record in lines(data)} <= known, name


def test_rounds_are_what_the_client_calls_a_human_message(rollouts: dict[str, bytes]) -> None:
    for name, data in rollouts.items():
        facts = facts_before(read(data))[-1]
        assert facts.prompts == data.count(b'"payload":{"type":"user_message"'), name
        assert facts.problems == 0, name


def test_every_call_is_a_tool_with_its_output(rollouts: dict[str, bytes]) -> None:
    for name, data in rollouts.items():
        tools = [b for r in read(data) for b in r.blocks() if isinstance(b, Tool)]
        calls = [r["payload"] for r in map(json.loads, data.splitlines()) if "_call" in r["payload"].get("type", "")]
        outputs = sum("output" in call["type"] for call in calls)
        assert len(tools) == len(calls) - outputs, name
        assert sum(tool.result is not None for tool in tools) == outputs, name


def test_tokens_agree_with_the_total_of_the_client(rollouts: dict[str, bytes]) -> None:
    for name, data in rollouts.items():
        infos = [r["payload"].get("info") for r in map(json.loads, data.splitlines())]
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
        items = [r["payload"] for r in map(json.loads, data.splitlines()) if r["type"] == "response_item"]
        kept = [i for i in items if "_call" in i["type"] or i["type"] == "reasoning"]
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
