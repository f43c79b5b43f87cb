"""The door of a source: what holds for every one of them, shown on the sample sessions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from muniment import demo, sources
from muniment.model import Compaction, Facts, Loss, Message, Round, Text, Thinking, Tool, codec
from muniment.model.rounds import text_of
from muniment.sources import all_sources, find_in
from muniment.sources.base import CONVERSATION, Claim, Found, Move, Source, SourceFile, bytes_of, head_of, records
from muniment.store import document

WRITABLE = [source for source in all_sources() if source.writable]
ENV = {"HOME": "/nowhere"}


class Sample(Struct, frozen=True):
    """One transcript of the samples."""

    source: Source
    file: SourceFile
    facts: Facts
    data: bytes

    def __repr__(self) -> str:
        return f"Sample({self.file.name})"

    def read(self, facts: Facts | None = None, offset: int = 0, end: int | None = None) -> list[Round]:
        return read(self.source, self.data[offset:end], facts or self.facts, offset)


def read(source: Source, data: bytes, facts: Facts, offset: int = 0) -> list[Round]:
    return list(source.read(records([data], offset), facts))


def found() -> list[Found]:
    return list(find_in(demo.SAMPLES, ENV))


def samples() -> Iterator[Sample]:
    for session in found():
        source = sources.named(session.source)
        for file in session.files:
            if file.role in ("main", "sidechain"):
                side = file.id if file.role == "sidechain" else None
                facts = Facts(session.session_id, session.source, native_id=session.native_id, sidechain=side)
                data = b"".join(source.open(file.name, source.content(file)))
                yield Sample(source, file, facts, data)


def label(value: Sample | Source) -> str:
    return value.name if isinstance(value, Source) else f"{value.source.name}-{Path(value.file.path).stem[-12:]}"


SAMPLES = list(samples())
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=label)


def fold(rounds: list[Round], facts: Facts) -> Facts:
    for round_ in rounds:
        facts = facts.after(round_)
    return facts


def write(source: Source, sample: Sample, move: Move | None = None) -> tuple[bytes, list[Loss]]:
    """A sample in the format of a source, and what that cannot carry."""
    rounds = sample.read()
    media = {name: content for round_ in rounds for name, content in round_.media.items()}
    losses: list[Loss] = []
    facts = fold(rounds, sample.facts)
    lines = source.write(rounds, facts, move or Move(), media.__getitem__, losses)
    return b"".join(lines), losses


def messages(rounds: list[Round]) -> list[Message]:
    return [document.visible(m) for round_ in rounds for m in round_.messages if not m.silent]


# -- finding


def test_every_source_has_a_sample() -> None:
    assert {sample.source.name for sample in SAMPLES} == {source.name for source in all_sources()}


@each_sample
def test_a_source_claims_its_own_files_and_nobody_elses(sample: Sample) -> None:
    path = Path(sample.file.path)
    assert [s.name for s in all_sources() if s.matches(path, head_of(path))] == [sample.source.name]


@pytest.mark.parametrize("source", all_sources(), ids=lambda s: s.name)
@pytest.mark.parametrize("head", [b"", b"\0" * 100, b"{", b"[]", b"null", b"\xff\xfe", b"# notes\n", b"[" * 60_000])
def test_no_source_claims_what_is_no_session(source: Source, head: bytes) -> None:
    assert not source.matches(Path("notes.jsonl"), head)


def test_every_file_of_a_sample_is_found_below_its_root() -> None:
    for session in found():
        assert session.main is not None
        for file in session.files:
            assert file.size == len(b"".join(sources.named(session.source).content(file)))
            if file.start is None:
                assert Path(session.root, file.name) == Path(file.path)


def test_sessions_that_share_a_file_have_all_of_its_bytes() -> None:
    shared: dict[str, list[SourceFile]] = {}
    for session in found():
        for file in session.files:
            if file.start is not None and file.text is None:
                shared.setdefault(file.path, []).append(file)
    assert shared
    for path, parts in shared.items():
        ordered = sorted(parts, key=lambda part: part.name)
        assert b"".join(piece for part in ordered for piece in bytes_of(part)) == Path(path).read_bytes()


@each_sample
def test_a_transcript_given_by_itself_is_the_same_session(sample: Sample) -> None:
    if sample.file.role == "main":
        alone = [(session.source, session.session_id) for session in find_in(Path(sample.file.path), ENV)]
        assert (sample.source.name, sample.facts.session_id) in alone
        assert len(alone) == 1 or sample.file.start is not None


# -- reading


@each_sample
def test_rounds_are_numbered_and_in_the_order_of_the_file(sample: Sample) -> None:
    rounds = sample.read()
    assert [round_.number for round_ in rounds] == list(range(1, len(rounds) + 1))
    assert [round_.offset for round_ in rounds] == sorted({round_.offset for round_ in rounds})
    assert any(round_.prompted for round_ in rounds)


@each_sample
def test_every_block_points_at_its_record(sample: Sample) -> None:
    starts = {record.offset: record.length for record in sample.source.objects(records([sample.data]))}
    for round_ in sample.read():
        assert all(starts[block.ref.offset] == block.ref.length for block in round_.blocks())


@each_sample
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_file_cut_anywhere_reads_as_far_as_it_goes(sample: Sample, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(sample.data)))
    rounds, whole = sample.read(end=cut), sample.read()
    assert rounds[:-1] == whole[: len(rounds) - 1]
    last_line = sample.data.rfind(b"\n", 0, cut) + 1
    if rounds != sample.read(end=last_line):
        codec.loads(sample.data[last_line:cut])  # only a whole record may count without its newline


@each_sample
def test_reading_may_begin_at_any_round(sample: Sample) -> None:
    rounds = sample.read()
    for k, round_ in enumerate(rounds):
        assert sample.read(fold(rounds[:k], sample.facts), round_.offset) == rounds[k:]


# -- writing its own format

own = pytest.mark.parametrize("sample", [s for s in SAMPLES if s.source.writable], ids=label)


@own
def test_what_was_written_reads_as_the_same_messages(sample: Sample) -> None:
    data, _ = write(sample.source, sample)
    assert messages(read(sample.source, data, sample.facts)) == messages(sample.read())


@own
def test_writing_twice_gives_the_same_bytes(sample: Sample) -> None:
    assert write(sample.source, sample) == write(sample.source, sample)


@own
def test_writing_what_was_written_changes_nothing(sample: Sample) -> None:
    data, _ = write(sample.source, sample)
    again = Sample(sample.source, sample.file, sample.facts, data)
    assert write(sample.source, again)[0] == data


def conversation(source: Source, data: bytes) -> dict[tuple[str, str], Any]:
    """What a file claims of its conversation."""
    claims: list[Claim] = [claim for line in data.split(b"\n") for claim in source.claims(line)]
    return {(c.key, c.field): c.value for c in claims if c.field in CONVERSATION}


@own
def test_a_written_file_claims_all_that_its_source_does(sample: Sample) -> None:
    if type(sample.source).claims is Source.claims:
        pytest.skip(f"{sample.source.name} makes no claims")
    data, _ = write(sample.source, sample)
    given, got = conversation(sample.source, sample.data), conversation(sample.source, data)
    assert {key: got.get(key) for key in given} == given
    assert given


@own
def test_a_fork_carries_its_new_identity_and_not_the_old(sample: Sample) -> None:
    if sample.facts.sidechain is None:
        new = "99999999-9999-4999-8999-999999999999"
        facts = fold(sample.read(), sample.facts)
        move = Move(session_id=new, cwd="/elsewhere")
        data, _ = write(sample.source, sample, move)
        assert new.encode() in data
        assert new[:8] in sample.source.place(facts, move)  # some formats name files by the first digits
        rewritten = fold(read(sample.source, data, Facts(new, sample.source.name)), Facts(new, sample.source.name))
        assert rewritten.first_cwd == "/elsewhere"


# -- writing the formats of others

every_way = pytest.mark.parametrize(
    ("sample", "target"),
    [(sample, target) for sample in SAMPLES for target in WRITABLE],
    ids=label,
)


@every_way
def test_a_written_file_is_recognised_where_it_is_put(sample: Sample, target: Source, tmp_path: Path) -> None:
    data, _ = write(target, sample)
    path = tmp_path / target.place(fold(sample.read(), sample.facts), Move())
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    assert target.matches(path, head_of(path))
    assert data.endswith(b"\n")
    (session,) = target.gather(target.candidates(tmp_path), tmp_path, [tmp_path])
    assert session.session_id == sample.facts.session_id


def said(rounds: list[Round], role: str) -> list[str]:
    spoken = [text_of(m) for round_ in rounds for m in round_.messages if m.role == role]
    return [text for text in spoken if text]


def called(rounds: list[Round]) -> list[tuple[str | None, Any, list[str]]]:
    tools = [block for round_ in rounds for block in round_.blocks() if isinstance(block, Tool)]
    return [(t.name, t.input, [p.text for p in t.output or () if isinstance(p, Text)]) for t in tools]


def prompted(rounds: list[Round]) -> list[str]:
    return [text_of(round_.prompt) for round_ in rounds if round_.prompt]


@every_way
def test_all_words_and_tool_calls_survive_any_format(sample: Sample, target: Source) -> None:
    data, _ = write(target, sample)
    facts = Facts(sample.facts.session_id, target.name, sidechain=sample.facts.sidechain)
    before, after = sample.read(), read(target, data, facts)
    assert prompted(after) == prompted(before)
    assert said(after, "user") == said(before, "user")
    assert said(after, "assistant") == said(before, "assistant")
    assert called(after) == called(before)


@every_way
def test_a_compaction_survives_any_format_or_is_listed_as_lost(sample: Sample, target: Source) -> None:
    data, losses = write(target, sample)
    facts = Facts(sample.facts.session_id, target.name, sidechain=sample.facts.sidechain)
    before, after = (
        [b.text for r in rounds for b in r.blocks() if isinstance(b, Compaction)]
        for rounds in (sample.read(), read(target, data, facts))
    )
    assert after == before or any("compaction" in loss.what for loss in losses)


@every_way
def test_thinking_that_a_format_cannot_hold_is_listed_as_lost(sample: Sample, target: Source) -> None:
    data, losses = write(target, sample)
    facts = Facts(sample.facts.session_id, target.name, sidechain=sample.facts.sidechain)
    thoughts = [
        sum(isinstance(block, Thinking) for r in rounds for block in r.blocks())
        for rounds in (sample.read(), read(target, data, facts))
    ]
    lost = sum(loss.count for loss in losses if "thinking" in loss.what or "reasoning" in loss.what)
    assert thoughts[0] == thoughts[1] + lost


@every_way
def test_every_loss_says_what_and_why(sample: Sample, target: Source) -> None:
    _, losses = write(target, sample)
    assert all(loss.where and loss.what and loss.why and loss.count > 0 for loss in losses)
