"""Laws of writing: what is written is read again as the same conversation, and what does not fit is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muniment.contract.reading import needs_claims
from muniment.contract.samples import Sample, Subject, fold, messages, read
from muniment.errors import Unsupported
from muniment.model import Compaction, Facts, Loss, Round, Text, Thinking, Tool
from muniment.model.rounds import text_of
from muniment.restore import inside
from muniment.sources.base import CONVERSATION, Move, Source, head_of
from muniment.sources.lines import records

Way = tuple[Sample, Source]
NEW_ID = "99999999-9999-4999-8999-999999999999"


# -- its own format


def test_what_was_written_reads_as_the_same_messages(own: Sample) -> None:
    data, _ = own.written(own.source)
    assert messages(read(own.source, data, own.facts)) == messages(own.read())


def test_writing_twice_gives_the_same_bytes(own: Sample) -> None:
    assert own.written(own.source) == own.written(own.source)


def test_writing_what_was_written_changes_nothing(own: Sample) -> None:
    data, _ = own.written(own.source)
    again = Sample(own.source, own.file, own.facts, data)
    assert again.written(own.source)[0] == data


def conversation(source: Source, data: bytes) -> dict[tuple[str, str], Any]:
    """What a file claims of its conversation."""
    claims = [claim for record in source.objects(records([data])) for claim in source.claims(record.raw)]
    return {(c.key, c.field): c.value for c in claims if c.field in CONVERSATION}


def test_a_written_file_claims_all_that_its_source_does(own: Sample) -> None:
    needs_claims(own.source)
    data, _ = own.written(own.source)
    given, got = conversation(own.source, own.data), conversation(own.source, data)
    assert {key: got.get(key) for key in given} == given
    assert given


def test_a_fork_carries_its_new_identity_and_not_the_old(own: Sample) -> None:
    if own.facts.sidechain is None:
        facts = fold(own.read(), own.facts)
        move = Move(session_id=NEW_ID, cwd="/elsewhere")
        data, _ = own.written(own.source, move)
        assert NEW_ID.encode() in data
        assert NEW_ID[:8] in own.source.place(facts, move)  # some formats name files by the first digits
        new = Facts(NEW_ID, own.source.name)
        assert fold(read(own.source, data, new), new).first_cwd == "/elsewhere"


# -- moving originals


def test_an_original_that_moves_stays_a_session_of_its_agent(sample: Sample, tmp_path: Path) -> None:
    source, name = sample.source, sample.file.name
    facts = fold(sample.read(), sample.facts)
    raw = b"".join(source.content(sample.file))
    if sample.file.role != "main" or not source.given_back(name):
        pytest.skip("only what a restore writes is moved")
    try:
        place, pieces = source.moved(name, [raw], facts, Move(session_id=NEW_ID, cwd="/elsewhere"))
    except Unsupported:
        pytest.skip(f"files of {source.title} cannot be moved")
    path = inside(tmp_path, place)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(pieces))
    (moved,) = source.gather([path], tmp_path, [tmp_path])
    assert moved.session_id == NEW_ID
    assert moved.main
    opened = b"".join(source.open(moved.main.name, source.content(moved.main)))
    before, after = sample.read(), read(source, opened, Facts(NEW_ID, source.name))
    assert prompted(after) == prompted(before)
    assert said(after, "assistant") == said(before, "assistant")
    assert called(after) == called(before)


def test_a_session_is_resumed_by_its_id(subject: Subject) -> None:
    source = subject.source
    if not (source.writable and source.resume_command):
        pytest.skip(f"{source.title} has no command that resumes")
    assert "{id}" in source.resume_command


# -- the formats of others


def test_a_written_file_is_recognised_where_it_is_put(way: Way, tmp_path: Path) -> None:
    sample, target = way
    data, _ = sample.written(target)
    path = tmp_path / target.place(fold(sample.read(), sample.facts), Move())
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    assert target.matches(path, head_of(path))
    assert data.endswith(b"\n")
    (session,) = target.gather(target.candidates(tmp_path), tmp_path, [tmp_path])
    assert session.session_id == sample.facts.session_id


def said(rounds: list[Round], role: str) -> str:
    """All words of a speaker; formats differ in what they take for one message."""
    spoken = [text_of(m) for round_ in rounds for m in round_.messages if m.role == role]
    return "\n\n".join(text for text in spoken if text)


def called(rounds: list[Round]) -> list[tuple[str | None, Any, list[str]]]:
    tools = [block for round_ in rounds for block in round_.blocks() if isinstance(block, Tool)]
    return [(t.name, t.input, [p.text for p in t.output or () if isinstance(p, Text)]) for t in tools]


def prompted(rounds: list[Round]) -> list[str]:
    return [text_of(round_.prompt) for round_ in rounds if round_.prompt]


def carried(way: Way) -> tuple[list[Round], list[Round], list[Loss]]:
    """The rounds before, those after, and what was told to be lost."""
    sample, target = way
    data, losses = sample.written(target)
    return sample.read(), read(target, data, sample.facts_in(target)), losses


def test_all_words_and_tool_calls_survive_any_format(way: Way) -> None:
    """Prompts stay prompts; words that steered the agent become one where a format knows no other way."""
    before, after, _ = carried(way)
    opened = iter(prompted(after))
    assert all(prompt in opened for prompt in prompted(before))
    assert said(after, "user") == said(before, "user")
    assert said(after, "assistant") == said(before, "assistant")
    assert called(after) == called(before)


def test_a_compaction_survives_any_format_or_is_listed_as_lost(way: Way) -> None:
    *both, losses = carried(way)
    before, after = ([b.text for r in rounds for b in r.blocks() if isinstance(b, Compaction)] for rounds in both)
    assert after == before or any("compaction" in loss.what for loss in losses)


def test_thinking_that_a_format_cannot_hold_is_listed_as_lost(way: Way) -> None:
    *both, losses = carried(way)
    before, after = (sum(isinstance(block, Thinking) for r in rounds for block in r.blocks()) for rounds in both)
    lost = sum(loss.count for loss in losses if "thinking" in loss.what or "reasoning" in loss.what)
    assert before == after + lost


def test_every_loss_says_what_and_why(way: Way) -> None:
    _, _, losses = carried(way)
    assert all(loss.where and loss.what and loss.why and loss.count > 0 for loss in losses)
