"""Laws of reading: every record has its place, whatever is broken, missing or unheard of."""

from __future__ import annotations

import gc
import random
import re
from collections.abc import Iterator
from itertools import pairwise, product

import pytest

from muniment.contract.samples import GARBAGE, Sample, fold, objects, places, read, spoken
from muniment.model import Round, codec
from muniment.sources.base import CONVERSATION, Former, Source
from muniment.sources.lines import Record, records
from muniment.store import rounds as stored

CUTS = 150
HURTS = 60
INSERTED = 12
AHEAD = 8
"""Records that a reader may look at before it lets a round go."""
TIMES = 5
"""How often a sample is repeated to make it longer than that."""
UNHEARD_OF = b'{"never-heard-of":{"type":"mystery","words":"sesame"}}'
SEED = 20260319
JSON_BEGINS_BEHIND = b"\xef\xbb\xbf, \t\r\n"
NULS = bytes(9)
HALF = b"\\ud83d"
"""Half of a character, as JSON holds it where a program cut a text in the midst of one."""


def some(choices: list[int], count: int) -> list[int]:
    """All of them, or so many that are always the same."""
    return choices if len(choices) <= count else sorted(random.Random(SEED).sample(choices, count))


def test_rounds_are_numbered_and_in_the_order_of_the_file(sample: Sample) -> None:
    rounds = sample.read()
    assert [round_.number for round_ in rounds] == list(range(1, len(rounds) + 1))
    assert [round_.offset for round_ in rounds] == sorted({round_.offset for round_ in rounds})
    assert any(round_.prompted for round_ in rounds)


def test_every_block_points_at_its_record(sample: Sample) -> None:
    lengths = {record.offset: record.length for record in objects(sample)}
    for offset, length in places(sample.read()).items():
        assert lengths.get(offset) == length


def test_every_record_has_its_place_in_a_round(sample: Sample) -> None:
    """What a reader does not understand is a quiet event: kept, counted, not shown. Brackets alone say nothing."""
    known = places(sample.read())
    said = [record for record in objects(sample) if re.search(rb"\w", record.raw)]
    assert [record.raw[:200] for record in said if record.offset not in known] == []


def test_reading_twice_gives_the_same(sample: Sample) -> None:
    assert sample.read() == sample.read()


def test_reading_leaves_nothing_to_the_garbage_collector(sample: Sample) -> None:
    """Inscribing goes without it: what is part of a cycle would stay in memory until all sessions are done."""
    sample.read()
    gc.collect()
    gc.disable()
    try:
        sample.read()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_the_pieces_in_which_a_file_comes_do_not_matter(sample: Sample) -> None:
    source, name = sample.source, sample.file.name
    raw = b"".join(source.content(sample.file))
    pieces = [raw[at : at + 61] for at in range(0, len(raw), 61)]
    assert b"".join(source.open(name, pieces)) == sample.data


def test_what_was_read_is_what_is_stored(sample: Sample) -> None:
    for round_ in sample.read():
        again = stored.decode(stored.encode(round_))
        assert again.messages == round_.messages


def test_a_file_cut_anywhere_reads_as_far_as_it_goes(sample: Sample) -> None:
    whole = sample.read()
    for cut in some(list(range(len(sample.data))), CUTS):
        rounds = sample.read(end=cut)
        assert rounds[:-1] == whole[: len(rounds) - 1], f"cut at {cut}"
        last_line = sample.data.rfind(b"\n", 0, cut) + 1
        if rounds != sample.read(end=last_line):
            codec.loads(sample.data[last_line:cut])  # only a whole record may count without its newline


def test_reading_may_begin_at_any_round(sample: Sample) -> None:
    """So that an append costs what was added, and not what was there."""
    rounds = sample.read()
    for k, round_ in enumerate(rounds):
        assert sample.read(rounds[:k], round_.offset) == rounds[k:], f"from round {k + 1}"


def test_a_closed_round_is_handed_on_before_the_file_is_read(sample: Sample) -> None:
    """Only the open round may be in memory: a session can be larger than that."""
    taken: list[Record] = []
    long = (sample.data.rstrip(b"\n") + b"\n") * TIMES

    def told() -> Iterator[Record]:
        for record in records([long]):
            taken.append(record)
            yield record

    whole = read(sample.source, long, sample.facts)
    starts = [round_.offset for round_ in whole]
    given: list[Round] = []
    former = Former(lambda n: whole[n - 1], lambda: fold(given, sample.facts))
    for number, round_ in enumerate(sample.source.read_on(told(), sample.facts, former), 1):
        given.append(round_)
        if number < len(starts):
            ahead = [record for record in taken if record.offset > starts[number]]
            assert len(ahead) <= AHEAD, f"round {number} came after {len(ahead)} more records"


def test_a_line_that_cannot_be_read_is_reported_and_costs_no_other(sample: Sample) -> None:
    for at in some(sample.lines(), INSERTED):
        rounds = read(sample.source, sample.with_line(at, GARBAGE), sample.facts)
        reported = {problem.offset for round_ in rounds for problem in round_.problems("")}
        assert at in reported, f"a broken line at {at}"
        assert spoken(rounds) == spoken(sample.read())


def test_what_stands_before_or_behind_a_record_on_its_line_costs_no_other(sample: Sample) -> None:
    """A killed writer leaves half a record without a newline, a crash of the machine leaves NULs."""
    starts = [record.offset for record in records([sample.data]) if is_alone(record)]
    for at, left in product(some(starts, INSERTED), (GARBAGE, NULS)):
        rounds = read(sample.source, sample.data[:at] + left + sample.data[at:], sample.facts)
        reported = [(problem.offset, problem.length) for round_ in rounds for problem in round_.problems("")]
        assert reported == [(at, len(left))], f"half a line at {at}"
        assert spoken(rounds) == spoken(sample.read())


def test_records_on_one_line_are_read_one_by_one(sample: Sample) -> None:
    """Also where reading begins at one of them, or where the file ends within them."""
    lines = list(records([sample.data]))
    ends = [b"" if is_alone(line) and is_alone(after) else b"\n" for line, after in pairwise(lines)]
    data = b"".join(line.raw + end for line, end in zip(lines, [*ends, b"\n"], strict=True))
    rounds = read(sample.source, data, sample.facts)
    assert spoken(rounds) == spoken(sample.read())
    for k, round_ in enumerate(rounds):
        rest = read(sample.source, data[round_.offset :], sample.facts, round_.offset, rounds[:k])
        assert rest == rounds[k:], f"from round {k + 1}"
    for cut in some(list(range(len(data))), CUTS):
        there = read(sample.source, data[:cut], sample.facts)
        assert there[:-1] == rounds[: len(there) - 1], f"cut at {cut}"


def is_alone(record: Record) -> bool:
    """Whether a line is one object, and no part of a document that is spread over lines."""
    try:
        return record.raw.startswith(b"{") and isinstance(codec.loads(record.raw), dict)
    except ValueError:
        return False


def test_a_record_that_nobody_heard_of_is_kept_and_costs_no_other(sample: Sample) -> None:
    for at in some(sample.lines(), INSERTED):
        rounds = read(sample.source, sample.with_line(at, UNHEARD_OF), sample.facts)
        assert at in places(rounds), f"an unknown record at {at}"
        assert spoken(rounds) == spoken(sample.read())


def test_half_of_a_character_costs_no_words(sample: Sample) -> None:
    source, name = sample.source, sample.file.name
    raw = b"".join(source.content(sample.file))
    words = (word for text in spoken(sample.read()) for word in re.findall(r"[A-Za-z]{4,}", text))
    word = next((word.encode() for word in words if raw.count(word.encode()) == 1), None)
    if word is None or not raw.lstrip(JSON_BEGINS_BEHIND).startswith((b"{", b"[")):
        pytest.skip("not JSON, or without a word of its own")
    cut = raw.replace(word, word + HALF)
    after = spoken(read(source, b"".join(source.open(name, [cut])), sample.facts))
    assert len(after) == len(spoken(sample.read()))
    assert any("\ud83d" in text for text in after)


def test_no_bytes_make_a_reader_fail(sample: Sample) -> None:
    dice = random.Random(SEED)
    for _ in range(HURTS):
        at, noise = dice.randrange(len(sample.data)), dice.randbytes(dice.randrange(5))
        rounds = read(sample.source, sample.data[:at] + noise + sample.data[at + 2 :], sample.facts)
        assert [round_.number for round_ in rounds] == list(range(1, len(rounds) + 1))
        assert fold(rounds, sample.facts).rounds == len(rounds)
        assert [stored.decode(stored.encode(round_)).number for round_ in rounds]


def test_what_is_packed_opens_whatever_happened_to_it(sample: Sample) -> None:
    dice = random.Random(SEED)
    raw = b"".join(sample.source.content(sample.file))
    for _ in range(HURTS):
        at = dice.randrange(len(raw))
        opened = b"".join(sample.source.open(sample.file.name, [raw[:at], dice.randbytes(3), raw[at + 2 :]]))
        read(sample.source, opened, sample.facts)
    read(sample.source, b"".join(sample.source.open(sample.file.name, [])), sample.facts)


# -- claims


def claimed(source: Source, lines: list[Record]) -> dict[str, list[object]]:
    """What the records claim of their conversation, by field."""
    found: dict[str, list[object]] = {}
    for line in lines:
        for claim in source.claims(line.raw):
            found.setdefault(claim.field, []).append(claim.value)
    return found


def needs_claims(source: Source) -> None:
    if type(source).claims is Source.claims:
        pytest.skip(f"{source.name} makes no claims: `muniment check` cannot compare its sessions")


def test_every_prompt_is_claimed(sample: Sample) -> None:
    """Claims that leave something out make a check that misses it."""
    needs_claims(sample.source)
    texts = claimed(sample.source, objects(sample)).get("text", [])
    prompts = [round_.prompt for round_ in sample.read() if round_.prompt]
    assert [text for prompt in prompts for text in spoken([Round(1, (prompt,))]) if text not in texts] == []


def test_claims_are_made_of_any_line(sample: Sample) -> None:
    needs_claims(sample.source)
    for line in (b"", b"null", b"[]", b'"x"', b"{", b"\xff\0", UNHEARD_OF, GARBAGE, b"[" * 100_000):
        claims = [claim for claim in sample.source.claims(line) if claim.value is not None]
        assert [claim for claim in claims if claim.field in CONVERSATION] == []
