"""What holds for every format that a recorder can write, shown on the samples and on what is made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import SESSION, blocks, compare_golden, fold, read, written

from muniment import demo, sources
from muniment.model import Facts, Round, Unknown, codec
from muniment.model.rounds import text_of
from muniment.sources.base import Move, Source

HERE = Path(__file__).parent
NAMES = ("adr029", "agent", "native")
FILES = sorted(
    [path for name in NAMES for path in (demo.SAMPLES / name).rglob("*.jsonl")]
    + [path for name in NAMES for path in (HERE / name).glob("*/input.jsonl")]
)
CASES = sorted(path.parent for name in NAMES for path in (HERE / name).glob("*/input.jsonl"))
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: "-".join(path.parts[-3:]))

any_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3) | st.sampled_from(["message", "user", "header", "link", "title", "\ud83d", "<&>"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "text", "x"]), inner),
    max_leaves=4,
)  # fmt: skip


def source_of(path: Path) -> Source:
    return sources.named(next(name for name in NAMES if name in path.parts))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_a_case_reads_as_expected(case: Path) -> None:
    compare_golden(case)


@each_file
def test_every_line_comes_back_as_it_was(path: Path) -> None:
    data = path.read_bytes()
    back, _ = written(source_of(path), data)
    damaged = {block.ref.offset for block in blocks(read(source_of(path), data), Unknown) if block.damage}
    lines, offset = [], 0
    for line in data.splitlines(keepends=True):
        lines += [line] if offset not in damaged else []
        offset += len(line)
    assert back == b"".join(lines)


@pytest.mark.parametrize(
    "style",
    [
        lambda value: json.dumps(value),
        lambda value: json.dumps(value, ensure_ascii=False),
        lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        lambda value: json.dumps(value, indent=None, sort_keys=True),
        lambda value: " " + json.dumps(value).replace('"type"', '"twice":1,"twice":0.00001,"type"', 1),
    ],
    ids=["python", "spaced", "go", "sorted", "odd"],
)
@each_file
def test_whoever_wrote_a_line_it_comes_back_to_the_byte(path: Path, style: Any) -> None:
    values = [json.loads(line) for line in path.read_bytes().splitlines() if line.startswith(b"{") and valid(line)]
    data = "".join(style(value) + "\n" for value in values).encode()
    assert written(source_of(path), data)[0] == data


def valid(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


@each_file
@settings(max_examples=80)
@given(data=st.data())
def test_any_field_may_hold_anything_and_comes_back(path: Path, data: st.DataObject) -> None:
    source = source_of(path)
    lines = [line for line in path.read_bytes().splitlines() if valid(line)]
    number = data.draw(st.integers(0, len(lines) - 1))
    value = json.loads(lines[number])
    change(value, data)
    lines[number] = json.dumps(value).encode()
    whole = b"".join(line + b"\n" for line in lines)
    rounds = read(source, whole)
    fold(rounds, Facts(SESSION, source.name))
    assert codec.decode(codec.encode(rounds), list[Round]) == rounds
    if not blocks(rounds, Unknown) or not any(block.damage for block in blocks(rounds, Unknown)):
        assert written(source, whole)[0] == whole


def change(value: dict[str, Any], data: st.DataObject) -> None:
    """Put any value into any field, at any depth."""
    name = data.draw(st.sampled_from(sorted(value))) if value else "type"
    inner = value.get(name)
    if isinstance(inner, dict) and data.draw(st.booleans()):
        change(inner, data)
    elif isinstance(inner, list) and inner and isinstance(inner[0], dict) and data.draw(st.booleans()):
        change(inner[0], data)
    else:
        value[name] = data.draw(any_json)


@each_file
@settings(max_examples=80)
@given(data=st.data())
def test_any_bytes_may_be_hurt(path: Path, data: st.DataObject) -> None:
    whole, source = path.read_bytes(), source_of(path)
    at = data.draw(st.integers(0, len(whole)))
    hurt = whole[:at] + data.draw(st.binary(max_size=4)) + whole[at + 2 :]
    rounds = read(source, hurt)
    facts = fold(rounds, Facts(SESSION, source.name))
    _, losses = written(source, hurt)
    assert sum(loss.count for loss in losses if loss.what == "damaged line") == facts.problems


@each_file
def test_reading_may_begin_at_any_round(path: Path) -> None:
    data, source = path.read_bytes(), source_of(path)
    rounds = read(source, data)
    for k, round_ in enumerate(rounds):
        facts = fold(rounds[:k], Facts(SESSION, source.name))
        assert read(source, data[round_.offset :], facts, round_.offset) == rounds[k:]


@each_file
def test_a_moved_file_says_so_in_its_header_and_nowhere_else(path: Path) -> None:
    source, data = source_of(path), path.read_bytes()
    new = "99999999-9999-4999-8999-999999999999"
    facts = fold(read(source, data), Facts(SESSION, source.name))
    _, pieces = source.moved("x.jsonl", [data], facts, Move(new, "/elsewhere"))
    changed = b"".join(pieces)
    pairs = list(zip(data.split(b"\n"), changed.split(b"\n"), strict=True))
    differ = [(old, moved) for old, moved in pairs if old != moved]
    assert len(differ) == 1
    assert new.encode() in differ[0][1]
    assert b"/elsewhere" in differ[0][1]


@pytest.mark.parametrize("name", NAMES)
def test_rounds_chosen_from_the_middle_get_a_header(name: str) -> None:
    source = sources.named(name)
    path = next(path for path in FILES if "samples" in path.parts and name in path.parts and path.stem != "task-fog")
    rounds = read(source, path.read_bytes())
    media = {name: content for round_ in rounds for name, content in round_.media.items()}
    facts = fold(rounds, Facts(SESSION, name))
    data = b"".join(source.write(rounds[1:], facts, Move(), media.__getitem__, []))
    assert SESSION.encode() in data.split(b"\n")[0]
    assert source.matches(Path("x.jsonl"), data)
    assert prompts(read(source, data)) == prompts(rounds[1:])


def prompts(rounds: list[Round]) -> list[str]:
    return [text_of(round_.prompt) for round_ in rounds if round_.prompt]
